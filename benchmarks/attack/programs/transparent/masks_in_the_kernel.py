"""Print the masks that the kernel keeps: blocked, ignored and caught, less SIGURG."""

import signal

from busy import work

URGENT = 1 << (signal.SIGURG - 1)

work()
with open("/proc/self/status") as status:
    for line in status:
        name, _, value = line.partition(":")
        if name in ("SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd"):
            print(name, hex(int(value, 16) & ~URGENT))
