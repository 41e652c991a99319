"""Use SIGURG itself."""

import os
import signal

from busy import work

caught = []
print(signal.getsignal(signal.SIGURG))
print(signal.signal(signal.SIGURG, lambda number, frame: caught.append(number)))
for _ in range(20):
    work(0.01)
    os.kill(os.getpid(), signal.SIGURG)
print(len(caught))
