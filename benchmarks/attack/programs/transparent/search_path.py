"""Look at sys.path, less the agent's own folder at most."""

import sys

from busy import work

work(0.1)
for entry in sys.path:
    if "rlprof/agent/inject" not in entry:
        print(entry)
print([getattr(finder, "__name__", type(finder).__name__) for finder in sys.path_hooks])
