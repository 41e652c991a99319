"""Write to stdout and stderr in turns; both go to one pipe."""

import os
import sys

from busy import work

for number in range(20):
    print("out", number, flush=True)
    print("err", number, file=sys.stderr)
    os.write(1, b"raw\n")
    work(0.01)
