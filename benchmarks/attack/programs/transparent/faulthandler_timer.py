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
    # In a hundred of these one meets the probe as it takes a stack, as the limits tell; asked for, none does.
    after_a_time = dumped.seek(0, os.SEEK_END)
    os.kill(os.getpid(), signal.SIGUSR1)
    dumped.seek(0)
    whole = dumped.read().decode()
    text = whole[after_a_time:]
print("in work\n" in whole[:after_a_time])
print(sorted(set(re.findall(r'File "(?:.*/)?([^/"]+)", line \d+ in (\S+)', text))))
print(whole.count("hread 0x"))
