"""Die of SIGTERM, sent by itself, unhandled."""

import os
import signal

from busy import work

work()
print("now", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
signal.pause()
