"""Say which files another user can read: ``reading_others.py UID PATH...``."""

import os
import sys

os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
for path in sys.argv[2:]:
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError:
        continue
    print(path)
