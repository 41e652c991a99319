"""Die of SIGABRT."""

import os
import resource

from busy import work

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
work()
os.abort()
