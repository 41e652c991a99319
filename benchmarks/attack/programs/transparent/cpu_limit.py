"""Be told by SIGXCPU that its CPU time is over."""

import resource
import signal

from busy import work

told = []
signal.signal(signal.SIGXCPU, lambda number, frame: told.append(number))
resource.setrlimit(resource.RLIMIT_CPU, (1, 20))
while not told:
    work(0.1)
print("told")
