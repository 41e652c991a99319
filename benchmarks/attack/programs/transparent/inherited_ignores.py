"""Print which signals it found ignored, and what a child of it finds."""

import signal
import subprocess

from busy import work

work()
for number in (
    "SIGPIPE",
    "SIGXFSZ",
    "SIGCHLD",
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGTERM",
    "SIGUSR1",
):
    print(number, signal.getsignal(getattr(signal, number)))
words = ["grep", "SigIgn", "/proc/self/status"]
print(
    subprocess.run(words, capture_output=True, text=True, restore_signals=False, check=False).stdout
)
