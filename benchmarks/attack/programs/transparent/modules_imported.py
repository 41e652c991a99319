"""Look at which modules are loaded without its asking, less ctypes, which the agent needs."""

import sys

from busy import work

work(0.1)
watched = (
    "asyncio",
    "dataclasses",
    "enum",
    "inspect",
    "json",
    "logging",
    "numpy",
    "rlprof",
    "socket",
    "subprocess",
    "threading",
    "torch",
    "typing",
)
print([name for name in watched if name in sys.modules])
import threading  # noqa: E402

print(threading.current_thread() is threading.main_thread())
