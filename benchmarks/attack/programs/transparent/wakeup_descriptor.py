"""Read signals from a wake-up descriptor."""

import os
import signal

from busy import work

reading, writing = os.pipe()
os.set_blocking(writing, False)
os.set_blocking(reading, False)
signal.signal(signal.SIGUSR1, lambda number, frame: None)
print(signal.set_wakeup_fd(writing))
for _ in range(10):
    work(0.03)
    os.kill(os.getpid(), signal.SIGUSR1)
print(list(os.read(reading, 100)))
print(signal.set_wakeup_fd(-1) == writing)
