"""Fork children that end at once: ``short_children.py COUNT``."""

import os
import sys

codes = set()
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        os._exit(3)
    codes.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(codes)
