"""Fork twice to become a daemon, which writes a file after its parent has ended."""

import os
import sys

from busy import work

reading, writing = os.pipe()
if os.fork():
    os.close(writing)
    os.wait()
    os.read(reading, 1)
    print("daemonised", os.path.exists("result"))
    sys.exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.umask(0o027)
work()
with open("result", "w") as result:
    print(os.getpgrp() == os.getpid(), os.getsid(0) == os.getpgrp(), os.umask(0), file=result)
os._exit(0)
