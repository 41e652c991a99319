"""Start a child with an emptied environment, and one with one variable more."""

import os
import subprocess
import sys

from busy import work

work(0.1)
code = "import os; print(sorted(n for n in os.environ if not n.startswith(('RLPROF_', 'PYTHON', 'LC_'))))"
for environment in ({}, {"ONE": "1"}, {**os.environ, "ONE": "1"}):
    print(
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
