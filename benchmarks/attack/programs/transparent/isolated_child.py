"""Start Python isolated, without site, and with warnings as errors."""

import subprocess
import sys

from busy import work

for flags in (["-I"], ["-E"], ["-S"], ["-s"], ["-W", "error"], ["-X", "dev"], ["-bb"]):
    work(0.02)
    child = subprocess.run(
        [sys.executable, *flags, "-c", "import os; print(os.getcwd())"],
        capture_output=True,
        text=True,
        check=False,
    )
    print(flags, child.returncode, child.stdout, child.stderr)
