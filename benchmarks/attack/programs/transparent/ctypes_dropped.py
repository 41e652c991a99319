"""Drop ctypes from sys.modules and load it anew, as reloaders do; then fork, block signals and trace."""

import os
import signal
import sys

for name in ("ctypes", "_ctypes"):
    sys.modules.pop(name, None)

pid = os.fork()
if not pid:
    os._exit(3)
print(os.waitpid(pid, 0)[1] >> 8)
print(signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]))
sys.settrace(lambda *_: None)
sys.settrace(None)

# Anew, after what was done without it.
import ctypes  # noqa: E402

print(ctypes.sizeof(ctypes.c_int))
