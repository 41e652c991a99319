"""What other programs take of the machine while a benchmark runs."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

BUSY_FIELDS = (1, 2, 3, 6, 7, 8)
"""Of the first line of ``/proc/stat``: user, nice, system, irq, softirq, steal. The last is time in
which the host ran another machine.
"""

LOOK_S = 1.0


class Neighbours:
    """CPU time of the whole machine that is neither ours nor of children that have ended."""

    def __init__(self) -> None:
        self._since = time.perf_counter()
        self._busy = _busy_s()
        self._ours = _our_s()

    @property
    def cores(self) -> float:
        """How many cores they took on average since this object was made."""
        foreign = (_busy_s() - self._busy) - (_our_s() - self._ours)
        return max(0.0, foreign / (time.perf_counter() - self._since))


def wait_for_quiet(most_cores: float, patience_s: float) -> None:
    """Return as soon as others take at most so many cores for a second, or patience has an end."""
    deadline = time.perf_counter() + patience_s
    while time.perf_counter() < deadline:
        others = Neighbours()
        time.sleep(LOOK_S)
        if others.cores <= most_cores:
            return


def _busy_s() -> float:
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return sum(int(fields[index]) for index in BUSY_FIELDS) / os.sysconf("SC_CLK_TCK")


def _our_s() -> float:
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    usages = [resource.getrusage(who) for who in whose]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
