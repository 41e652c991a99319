"""Count events of sys.monitoring where Python has it (3.12)."""

import sys
from collections import Counter

from busy import work

if not hasattr(sys, "monitoring"):
    print("none")
    sys.exit()
monitoring = sys.monitoring
events = Counter()
print([monitoring.get_tool(number) for number in range(6)])
monitoring.use_tool_id(monitoring.PROFILER_ID, "mine")
monitoring.register_callback(
    monitoring.PROFILER_ID,
    monitoring.events.PY_START,
    lambda code, offset: events.update([code.co_name]),
)
monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.PY_START)
work()
for _ in range(10):
    (lambda: None)()
monitoring.set_events(monitoring.PROFILER_ID, 0)
print(sorted(events.items()))
