"""Read its input line by line, and what is left at once."""

import os
import sys

from busy import work

print(sys.stdin.readline().strip())
work()
print(sys.stdin.read().upper())
print(os.read(0, 10))
