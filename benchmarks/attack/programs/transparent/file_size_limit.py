"""Write past its own RLIMIT_FSIZE."""

import resource
import sys

from busy import work

resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
work()
try:
    with open("large", "wb", buffering=0) as large:
        large.write(bytes(4096))
        large.write(bytes(1))
except OSError as error:
    print(error)
sys.exit(2)
