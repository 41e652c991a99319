"""Look at its umask, folder, limits, priority and name."""

import os
import resource

from busy import work

work()
mask = os.umask(0)
os.umask(mask)
print(oct(mask), os.getcwd(), os.nice(0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0)))
for name in sorted(vars(resource)):
    if name.startswith("RLIMIT_"):
        print(name, resource.getrlimit(getattr(resource, name)))
with open("/proc/self/comm") as comm:
    print(comm.read().strip())
with open("/proc/self/oom_score_adj") as score:
    print(score.read().strip())
