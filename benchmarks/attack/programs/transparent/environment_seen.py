"""Look at its environment, less RLPROF_… and PYTHONPATH."""

import os

from busy import work

work(0.1)
for name in sorted(os.environ):
    if not name.startswith("RLPROF_") and name not in ("PYTHONPATH", "_", "COLUMNS", "LINES"):
        print(name, os.environ[name])
