"""Forbid itself to load C libraries, as sandboxes for untrusted code do; then fork, block signals and trace."""

import os
import signal
import sys

sys.modules["ctypes"] = None

pid = os.fork()
if not pid:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    os._exit(3)
print(os.waitpid(pid, 0)[1] >> 8)
print(signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]))
print(signal.signal(signal.SIGURG, signal.SIG_IGN))
sys.settrace(lambda *_: None)
sys.settrace(None)
print("trained")
