"""Flush at the end alone, and lose it to a fork that flushes too."""

import os
import sys

from busy import work

sys.stdout.write("half a line")
if os.fork() == 0:
    work(0.1)
    sys.exit(0)
os.wait()
work(0.1)
