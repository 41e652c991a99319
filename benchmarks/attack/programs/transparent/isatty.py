"""Ask about the streams."""

import os
import stat
import sys

for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
    mode = os.fstat(number).st_mode
    print(stream.isatty(), stream.fileno(), stream.encoding, stream.errors, stream.line_buffering)
    print(stat.S_ISFIFO(mode), stat.S_ISCHR(mode), stat.S_ISREG(mode), os.get_blocking(number))
