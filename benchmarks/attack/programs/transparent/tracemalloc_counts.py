"""Let tracemalloc count blocks by file."""

import tracemalloc

from busy import work

tracemalloc.start(5)
kept = [bytes(1000) for _ in range(500)]
work()
snapshot = tracemalloc.take_snapshot()
names = {trace.traceback[0].filename.rpartition("/")[2] for trace in snapshot.traces}
print(sorted(names))
print(
    sum(
        stat.count
        for stat in snapshot.filter_traces([tracemalloc.Filter(True, __file__)]).statistics(
            "lineno"
        )
    )
    >= 500
)
