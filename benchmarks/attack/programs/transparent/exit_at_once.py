"""Leave by os._exit, without flushing."""

import os

from busy import work

work()
print("never flushed", end="")
os._exit(9)
