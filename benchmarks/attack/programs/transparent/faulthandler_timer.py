"""Let faulthandler dump all threads after a time, and on a signal."""

import faulthandler
import os
import re
import signal
import tempfile

from busy import work

with tempfile.TemporaryFile() as dumped:
    print(faulthandler.is_enabled())
    faulthandler.register(signal.SIGUSR1, dumped)
    faulthandler.dump_traceback_later(0.1, file=dumped)
    work()
    os.kill(os.getpid(), signal.SIGUSR1)
    dumped.seek(0)
    text = dumped.read().decode()
print(sorted(set(re.findall(r'File "(?:.*/)?([^/"]+)", line \d+ in (\S+)', text))))
print(text.count("hread 0x"))
