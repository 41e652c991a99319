"""Count every event of its own profile function, in threads too."""

import sys
import threading
from collections import Counter

from busy import work

events = Counter()


def profile(frame, event, argument):
    events[frame.f_code.co_name, event] += 1


def episode(depth):
    return 0 if depth == 0 else 1 + episode(depth - 1)


work()
threading.setprofile(profile)
thread = threading.Thread(target=episode, args=(30,))
sys.setprofile(profile)
episode(100)
thread.start()
thread.join()
import json.tool  # noqa: E402, F401 - imports are watched

sys.setprofile(None)
for (name, event), number in sorted(events.items()):
    if name not in ("wait", "acquire", "__enter__", "__exit__", "_wait_for_tstate_lock", "is_set"):
        print(name, event, number)
