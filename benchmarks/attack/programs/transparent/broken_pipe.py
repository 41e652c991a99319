"""Write into a closed pipe."""

import os
import sys

from busy import work

reading, writing = os.pipe()
os.close(reading)
work()
try:
    os.write(writing, b"x")
except BrokenPipeError as error:
    print(error)
sys.exit(4)
