"""When a way of counting is changed next: drawn, so that no rhythm of the program's can hide in between, and rarer after many changes."""

from __future__ import annotations

import sys

_OFTEN = 150 if sys.version_info >= (3, 13) else 1 << 62
"""Changes of the way after which they become rarer, by the fifth power: 1000 take two days. From Python 3.13 on attributes of a class that
was changed a thousand times are looked up without a cache (MAX_VERSIONS_PER_CLASS in typeobject.c).
"""


def drawn_after(last: int) -> int:
    """Return the number that is drawn after ``last``; not by ``random``, whose state is the program's."""
    return last * 1_103_515_245 + 12_345 & 0x7FFF_FFFF


def as_part(drawn: int) -> float:
    """Return a number that was drawn as one from 0 to 1."""
    return drawn / 0x7FFF_FFFF


def rarer_after(changes: int) -> float:
    """Return how many times as long a way is to last after so many changes of it."""
    return max(1.0, changes / _OFTEN) ** 5
