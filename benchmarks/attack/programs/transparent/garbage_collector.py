"""Look at the garbage collector's settings and callbacks."""

import gc

from busy import work

work()
print(
    gc.isenabled(),
    gc.get_threshold(),
    gc.get_debug(),
    gc.callbacks,
    gc.garbage,
    gc.get_freeze_count(),
)
