"""Start children with closed descriptors, own streams and own groups."""

import subprocess
import sys

from busy import work

code = "import os, sys; print(sorted(map(int, os.listdir('/proc/self/fd')))); sys.exit(6)"
for keywords in ({"close_fds": True}, {"close_fds": False}, {"start_new_session": True}):
    work(0.05)
    child = subprocess.run(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        **keywords,
    )
    print(child)
