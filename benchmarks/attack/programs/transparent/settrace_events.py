"""Count every event of its own trace function, over calls, forks and imports."""

import os
import sys
import threading
from collections import Counter

from busy import work

events = Counter()


def trace(frame, event, argument):
    events[frame.f_code.co_filename.rpartition("/")[2], event] += 1
    return trace


def episode(depth):
    return 0 if depth == 0 else 1 + episode(depth - 1)


work()
sys.settrace(trace)
for _ in range(20):
    episode(50)
child = os.fork()
if child == 0:
    episode(5)
    print(sys.gettrace() is trace, flush=True)
    os._exit(0)
os.waitpid(child, 0)
import json.tool  # noqa: E402, F401 - imports are watched
import uuid  # noqa: E402, F401

thread = threading.Thread(target=episode, args=(3,))
thread.start()
thread.join()
sys.settrace(None)
for (file, event), number in sorted(events.items()):
    print(file, event, number)
