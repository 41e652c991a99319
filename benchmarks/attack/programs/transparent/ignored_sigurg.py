"""Ignore SIGURG, and hand that on to a child."""

import signal
import subprocess
import sys

from busy import work

print(signal.signal(signal.SIGURG, signal.SIG_IGN))
work()
print(signal.getsignal(signal.SIGURG))
print(
    subprocess.run(
        [sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGURG))"],
        capture_output=True,
        text=True,
    ).stdout
)
