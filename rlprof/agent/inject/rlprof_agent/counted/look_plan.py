"""Plan at which of its calls a mark looks: at one in some milliseconds, and at fewer where looks take too much of the time."""

from __future__ import annotations

from ..real import time
from .ticks import MOST

_LOOK_EVERY_NS, _RARER, _MOST_RARE = 4_000_000, 32, 3
"""Time from one look to the next, looks of one kind after which it doubles, and how often it does. A look takes 2 to 5 µs, and a step in the wrappers
of ``gymnasium.make`` has four that are looked at: 0.05 % of the time in the end (``benchmarks/counting.py``).
"""
_WHERE_DEAR = 512
"""Calls from the first look to the next where looks take twice what they may; in proportion where they take more or less. A search makes ever new functions,
each of which is looked at.
"""
_GROWS = 4
"""Times as many calls as before from one look to the next, at most: a program may rest in between."""
_PART, _AT_FIRST_NS = 0.002, 10_000_000
"""Part of the time that all looks together may take, and what they may take on top in the beginning. Beyond that they become rarer, and calls are looked at
in a row no more: a suite of sixty tasks has sixty functions to look at, and a search over texts of environments ever new ones.
"""
_LONGEST_NS = 100_000
"""Longest that one takes: where it took longer the thread had no core, or another one ran meanwhile."""
_spent = [0, time.perf_counter_ns()]
"""Time that looks have taken, and when that began to be counted."""


def spend(took_ns: int) -> None:
    """Add the time of a look, or of a turn, to what all have taken."""
    _spent[0] += min(took_ns, _LONGEST_NS)


def are_affordable() -> bool:
    """Tell whether looks have taken no more than they may."""
    return _too_dear() <= 1


def _too_dear() -> float:
    """Return how many times as much time as they may all looks have taken."""
    return _spent[0] / (_AT_FIRST_NS + _PART * (time.perf_counter_ns() - _spent[1]))


class LookPlan:
    """The number of calls of one mark from one look to the next."""

    __slots__ = ("_alike", "_drawn", "last_ns", "until")

    def __init__(self) -> None:
        self.until = 1
        """The next call that is looked at, counted from the last."""
        self.last_ns = 0
        """Time of the last look that was planned from."""
        self._drawn = 1
        self._alike = 0
        """Looks that told the same as the one before, in a row."""

    def looked(self, used: int, *, is_alike: bool) -> None:
        """Plan the next look after one at the last of ``used`` calls."""
        self._alike = self._alike + 1 if is_alike else 0
        now = time.perf_counter_ns()
        before, self.last_ns = self.last_ns, now
        every_ns = _LOOK_EVERY_NS << min(self._alike // _RARER, _MOST_RARE)
        dear = _too_dear()
        least = int(_WHERE_DEAR * dear / 2) if dear > 1 else 0
        wanted = int(used * every_ns * max(1.0, dear) / max(1, now - before)) if before else least
        # No rhythm of the program's is to hide between two looks. Not by ``random``, whose state is the program's.
        self._drawn = self._drawn * 1_103_515_245 + 12_345 & 0x7FFF_FFFF
        drawn = min(wanted, max(_GROWS * self.until, least)) * (self._drawn + 0x4000_0000) >> 31
        self.until = min(max(1, drawn), MOST)
