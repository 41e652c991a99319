"""Die of SIGSEGV, with faulthandler's own lines on stderr."""

import faulthandler
import os
import re
import signal
import sys

from busy import work

reading, writing = os.pipe()
if os.fork() == 0:
    os.dup2(writing, 2)
    faulthandler.enable()
    work()
    os.kill(os.getpid(), signal.SIGSEGV)
os.close(writing)
text = b"".join(iter(lambda: os.read(reading, 4096), b"")).decode()
_, status = os.wait()
print(re.sub(r"0x[0-9a-f]+", "ADDRESS", text))
print(os.WTERMSIG(status))
sys.exit(1)
