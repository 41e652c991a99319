"""Use descriptors up to its limit."""

import os
import resource

from busy import work

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
opened = []
try:
    while True:
        opened.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print(len(opened), error.errno)
work()
try:
    import json.tool  # noqa: F401
except OSError as error:
    print(error.errno)
for descriptor in opened:
    os.close(descriptor)
print("closed")
