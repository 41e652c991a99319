"""Wait for any child until there is none."""

import os

from busy import work

for number in range(5):
    if os.fork() == 0:
        work(0.03)
        os._exit(number)
codes = []
while True:
    try:
        _, status = os.wait()
    except ChildProcessError:
        break
    codes.append(os.waitstatus_to_exitcode(status))
print(sorted(codes))
work()
