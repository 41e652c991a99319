"""Replace itself by another program."""

import os
import sys

from busy import work

if len(sys.argv) == 1:
    work()
    os.execv(sys.executable, [sys.executable, __file__, "again"])
work()
print(sys.argv[1:], "after exec")
os.execvp("sh", ["sh", "-c", "echo shell; exit 11"])
