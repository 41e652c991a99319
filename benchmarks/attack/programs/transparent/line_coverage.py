"""Count covered lines with the standard library's trace module."""

import trace

from busy import work


def update(steps):
    total = 0
    for step in range(steps):
        if step % 3:
            total += step
    return total


work()
tracer = trace.Trace(count=1, trace=0, ignoredirs=[])
tracer.runfunc(update, 300)
for (file, line), number in sorted(tracer.results().counts.items()):
    print(file.rpartition("/")[2], line, number)
