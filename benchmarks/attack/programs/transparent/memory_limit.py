"""Meet its own memory limit as a MemoryError."""

import resource

from busy import work

work(0.1)
resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
try:
    kept = bytearray(600 << 20)
except MemoryError:
    print("MemoryError")
work()
print(len(bytearray(10 << 20)))
