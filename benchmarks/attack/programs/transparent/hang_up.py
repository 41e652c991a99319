"""Handle SIGHUP, SIGTERM and SIGUSR1 that it sends to its group."""

import os
import signal

from busy import work

caught = []
for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, lambda number, frame: caught.append(number))
os.setpgid(0, 0) if os.getpgrp() != os.getpid() else None
for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1):
    os.killpg(0, number)
    work(0.1)
print(sorted(caught))
