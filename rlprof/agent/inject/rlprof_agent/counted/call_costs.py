"""Reckon what a counted call costs the program, from what it takes in a row, and how seldom the way of counting is to change for what that costs."""

from __future__ import annotations

import sys

IN_BETWEEN, _TIGHT_NS = 2.2, 400
"""Time of calls of ours in between the program's, over what they take in a row, where they are timed; and so many ns of the program's in between, at which
half of the difference is reached. Of 43 ns in a row became 46 in between 115, 78 in between 675, 63 in between 788 and 95 in between 1168 (2026-11-28,
by the steps of turns that were not counted).
"""
_WARM_NS, _COLD_PART, _MOST_COLD_NS = 20_000, 0.03, 2_400.0
"""What a call takes on top where the program does much else in between, as a part of the time in between that exceeds the first figure, and at most:
counting has to come back into the caches. Of 118 µs a step, most of them torch's, it took 2.8 (2026-11-28); of 2 µs of plain Python what a trial says.
"""
HEEDING = 2.5
"""How many times what a call costs that is counted directly it costs where it asks for who calls: of 1 200 ns a step, with one call of each kind, 480 were
added (2026-11-29).
"""
LOOKING = 4.3
"""How many times what a call costs without a look at where it comes from it costs with one: 3.5 to 6.3 in the same loops."""

_OFTEN = 150 if sys.version_info >= (3, 13) else 1 << 62
"""Changes of the way after which they become rarer, by the fifth power: 1000 take two days. From Python 3.13 on attributes of a class that
was changed a thousand times are looked up without a cache (MAX_VERSIONS_PER_CLASS in typeobject.c).
"""


def longer_ns(call_ns: float, between_ns: float) -> float:
    """Return by how much a counted call takes longer in between so much time of the program's, where it takes ``call_ns`` in a row."""
    is_apart = between_ns**2 / (between_ns**2 + _TIGHT_NS**2)
    warm_ns = call_ns * (1 + (IN_BETWEEN - 1) * is_apart)
    return warm_ns + min(_COLD_PART * max(0.0, between_ns - _WARM_NS), _MOST_COLD_NS)


def drawn_after(last: int) -> int:
    """Return the number that is drawn after ``last``; not by ``random``, whose state is the program's."""
    return last * 1_103_515_245 + 12_345 & 0x7FFF_FFFF


def as_part(drawn: int) -> float:
    """Return a number that was drawn as one from 0 to 1."""
    return drawn / 0x7FFF_FFFF


def rarer_after(changes: int) -> float:
    """Return how many times as long a way is to last after so many changes of it."""
    return max(1.0, changes / _OFTEN) ** 5
