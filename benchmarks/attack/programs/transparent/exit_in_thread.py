"""Call sys.exit in a thread: only the thread ends."""

import sys
import threading

from busy import work


def leave():
    work(0.1)
    sys.exit(5)


thread = threading.Thread(target=leave)
thread.start()
thread.join()
work(0.2)
print("still here")
sys.exit(3)
