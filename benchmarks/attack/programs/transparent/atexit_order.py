"""Run exit functions in order, with the codes and streams that they find."""

import atexit
import sys
import threading

from busy import work

for number in range(5):
    atexit.register(print, "exit", number)
atexit.register(lambda: print([thread.name for thread in threading.enumerate()], file=sys.stderr))
work()
