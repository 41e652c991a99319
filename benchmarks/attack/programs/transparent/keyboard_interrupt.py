"""Catch its own KeyboardInterrupt and go on."""

import os
import signal

from busy import work

for _ in range(5):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        work(0.05)
    except KeyboardInterrupt:
        print("caught")
