"""Start a child with a long argument of cut-off JSON; a signal to this process arrives at once."""

import os
import signal
import subprocess
import sys
import time

from busy import work

came = []
signal.signal(signal.SIGUSR1, lambda *_: came.append(time.monotonic()))
argument = '{"key_0": {"a": "' + '\\"b\\": 1, ' * 9_000
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1.5)", argument])
work(0.5)
sent = time.monotonic()
os.kill(os.getppid(), signal.SIGUSR1) if "RLPROF_SOCKET" in os.environ else os.kill(
    os.getpid(), signal.SIGUSR1
)
while not came and time.monotonic() < sent + 20:
    work(0.05)
child.wait()
print("arrived", bool(came) and came[0] - sent < 3)
