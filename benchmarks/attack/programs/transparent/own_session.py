"""Start a session of its own."""

import os

from busy import work

before = os.getsid(0)
try:
    print(os.setsid())
except OSError as error:
    print("refused", error.errno)
print(os.getsid(0) != before, os.getpgrp() == os.getpid())
work()
