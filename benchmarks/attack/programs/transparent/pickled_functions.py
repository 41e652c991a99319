"""Pickle functions of the standard library by name."""

import os
import pickle
import signal
import time

from busy import work

work(0.1)
for function in (
    os.fork,
    signal.pthread_sigmask,
    signal.signal,
    time.sleep,
    signal.set_wakeup_fd,
):
    print(pickle.dumps(function, 4))
