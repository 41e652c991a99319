"""Reads of tensors on the CPU, counted in some of the turns between two stacks where counting them all would cost too much.

In between torch's own methods are in their places, and each place reads at the pace of the turns in which it was counted. What other threads read
belongs to no turn: once they have read much, nothing is counted until the main thread goes on. Copies between a GPU and the
host need not be counted before the program uses one.
"""

from __future__ import annotations

import sys

from .. import foreign_errors, layout, turns
from ..turns import TAKES_TURNS

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..sync_sites import SyncSites

READ_NS = 3_000
"""CPU time of a counted read. A policy of 64 units that samples from a ``Categorical`` made 8 400 steps per second without and 6 970 with
some seven reads in each, most of them by torch's own code (2026-11-28)."""
MOST_COST = 0.004
"""Largest share of the main thread's CPU time."""
_FIRST_READS = 1_000
"""Reads that are all counted, whatever they cost: some 3 ms of CPU time. A short program is told whole."""
_FEWEST_TURNS, _MOST_TURNS = 20, 200
"""One of so many turns is counted: to put methods into their places takes some 50 µs, and Python looks all methods of tensors up anew."""
_READS = 5_000
"""Reads after which it is looked whose they are: some 15 ms of CPU time."""
_AT_ONCE = 10
"""Turns that are summed up at once, where nothing changes from one to the next: to sum up takes 10 to 30 µs."""
_OF_THE_LAST = 0.2
"""Weight of the last turn in a mean."""
_OFTEN = 150 if sys.version_info >= (3, 13) else 1 << 62
"""Changes of the class after which they become rarer, by the fifth power: 1000 take two days. From Python 3.13 on attributes of a class that
was changed a thousand times are looked up without a cache (MAX_VERSIONS_PER_CLASS in typeobject.c).
"""


class ReadTurns:
    def __init__(self, put: Callable[[bool, bool], None], sites: Sequence[SyncSites]) -> None:
        """``put`` has reads on the CPU counted or not, and copies; ``sites`` are those of reads on the CPU."""
        self._put = put
        self._sites = sites
        self._are_counted = (True, True)
        self._changes = 0
        self._is_whole = False
        """True if this turn is counted from its beginning on."""
        self._seen: dict[int, int] = {}
        """Counts at the beginning of the turn, by the index of their cell."""
        self._pace: dict[int, float] = {}
        """Reads in a ns of CPU time, by the index of their cell."""
        self._owed: dict[int, float] = {}
        self._cost = 0.0
        self._left = 0
        """Turns until the next that is counted."""
        self._until_sum = 1
        """Turns until what was counted is summed up."""
        self._own_ns = 0
        """Of turns that were not summed up yet."""
        self._drawn = 1
        self._are_of_others = False
        """True if other threads have read much in this turn."""
        self.left = [_READS]
        """Reads until it is looked whose they are."""

    def read_in(self, thread: int) -> None:
        """As many reads as ``left`` said were made, the last one in ``thread``."""
        self.left[0] = _READS
        if thread == TAKES_TURNS[0] or not turns.is_enrolled(self) or _has_gpu():
            return
        self._are_of_others = True
        self._pace.clear()
        self._left = 0
        try:
            self._count(reads=False, copies=False)
        except Exception as error:
            foreign_errors.pass_on(error)  # We are in the midst of the program's own call.

    def forget(self) -> None:
        """The cells are others now: in a forked child."""
        self._pace.clear()
        self._owed.clear()
        self.begin()

    def begin(self) -> None:
        if not self._are_counted[0]:
            self._add(self._own_ns)
        self._count(reads=True, copies=True)
        self._is_whole = False

    def stop(self) -> None:
        """Count no more."""
        self._count(reads=False, copies=False)

    def turn(self, own_ns: int) -> None:
        if _has_gpu():
            # Those on a GPU are waited for: each counts, and takes longer than its counting.
            self.begin()
        elif not self._are_counted[0]:
            self._own_ns += own_ns
            self._left -= 1
            if self._left <= 0 or self._left % _AT_ONCE == 0:
                self._add(self._own_ns)
                self._own_ns = 0
            if self._left <= 0:
                self._count(reads=True, copies=False)
                self._count_anew()
        elif not self._is_whole:
            self._is_whole = True
            self._count(reads=True, copies=False)
            self._count_anew()
        else:
            self._own_ns += own_ns
            self._until_sum -= 1
            if self._are_of_others:
                self._are_of_others = False
                self._count_anew()
            elif self._until_sum <= 0 and self._own_ns > 0:
                self._learn(self._own_ns)
                self._own_ns, self._until_sum = 0, _AT_ONCE

    def _count(self, reads: bool, copies: bool) -> None:
        if self._are_counted != (reads, copies):
            self._are_counted = (reads, copies)
            self._changes += 1
            self._put(reads, copies)

    def _count_anew(self) -> None:
        self._seen = self._counts()
        self._own_ns, self._until_sum = 0, 1

    def _learn(self, own_ns: int) -> None:
        """From what was counted in a turn: at which pace each place reads, and what counting it all would cost."""
        counts = self._counts()
        made = {first: count - self._seen.get(first, 0) for first, count in counts.items()}
        self._seen = counts
        reads = sum(made.values())
        # Without the time that counting took.
        bare_ns = max(own_ns - reads * READ_NS, 0.1 * own_ns)
        part = _OF_THE_LAST if self._pace else 1.0
        for first, number in made.items():
            pace = self._pace.get(first, 0.0)
            self._pace[first] = pace + part * (number / bare_ns - pace)
        self._cost += part * (reads * READ_NS / bare_ns - self._cost)
        if self._cost > MOST_COST and sum(counts.values()) > _FIRST_READS:
            # Not by ``random``, whose state is the program's.
            self._drawn = self._drawn * 1_103_515_245 + 12_345 & 0x7FFF_FFFF
            on_average = min(max(self._cost / MOST_COST, _FEWEST_TURNS), _MOST_TURNS)
            rarer = max(1.0, self._changes / _OFTEN) ** 5
            self._left = round((0.5 + self._drawn / 0x7FFF_FFFF) * on_average * rarer)
            self._count(reads=False, copies=False)

    def _add(self, own_ns: int) -> None:
        for first, pace in self._pace.items():
            owed = self._owed.get(first, 0.0) + pace * own_ns
            self._owed[first] = owed - int(owed)
            self._sites[0].cells[first + layout.SITE_COUNT] += int(owed)

    def _counts(self) -> dict[int, int]:
        return {
            first: each.cells[first + layout.SITE_COUNT]
            for each in self._sites
            for first in set(each.slots.values())
        }


def _has_gpu() -> bool:
    """Tell whether the program has begun to use one."""
    return bool(getattr(sys.modules.get("torch.cuda"), "_initialized", False))
