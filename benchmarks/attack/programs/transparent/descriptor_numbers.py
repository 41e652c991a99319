"""Get the lowest free descriptor numbers."""

import os

from busy import work

for _ in range(3):
    work(0.1)
    descriptors = [os.open("/dev/null", os.O_RDONLY) for _ in range(3)]
    print(descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
print(sorted(int(number) for number in os.listdir("/proc/self/fd")))
