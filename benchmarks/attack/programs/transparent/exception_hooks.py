"""Report exceptions through hooks of its own, in threads too."""

import sys
import threading

from busy import work

sys.excepthook = lambda kind, error, trace: print("hook", kind.__name__, error, flush=True)
threading.excepthook = lambda arguments: print("thread", arguments.exc_type.__name__, flush=True)
sys.unraisablehook = lambda arguments: print("unraisable", arguments.exc_type.__name__, flush=True)


class Dying:
    def __del__(self):
        raise ValueError("dying")


thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()
del thread
Dying()
work()
raise KeyError("the end")
