"""Ticks, by which calls are counted, and rows of calls that are looked at one by one."""

from __future__ import annotations

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

MOST, SPARE = 16_384, 64
"""Most calls from one look to the next, and looks at once, by threads, or that are cut short by an error of the program's."""
TICKS = (False,) * SPARE + (True,) * MOST
_FEW_CHANGES = 4
"""Most changes of the kind in a row that is no mixture, but the end of one part of the program and the beginning of another; unless one of the kinds
stands alone each time.
"""


_FEWEST_CALLS = 16
"""Fewest of a row that tell so: where looks are dear it ends after one."""


class Ticks(reversed):  # type: ignore[type-arg]  # where it runs it takes no parameter
    """Goes through ``TICKS`` from the end, in C, and tells how many are left."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        """A copy has none, so that each call looks, which is a call of ``callable``."""
        return iter, ((),)


def share_of(row: list[bool]) -> float:
    """Part of the calls that count, from one that does to the last that does: so whole ones are taken, with all that are made within."""
    if _changes(row) <= _FEW_CHANGES and not _is_sprinkled(row):
        return float(row[-1])
    first, last = row.index(True), len(row) - 1 - row[::-1].index(True)
    return (sum(row) - 1) / (last - first) if last > first else 1 / len(row)


def is_unclear(row: list[bool]) -> bool:
    """Tell whether a longer one would tell more of a mixture: where an environment that makes 25 steps at once stands between two wrappers of one class,
    one call of 26 counts.
    """
    return _changes(row) <= _FEW_CHANGES and _is_sprinkled(row)


def _is_sprinkled(row: list[bool]) -> bool:
    """Tell whether there are two kinds, of which the rarer one stands alone each time."""
    if len(row) < _FEWEST_CALLS:
        return False
    rarer = 2 * sum(row) < len(row)
    alone = sum(
        each is rarer and (at == 0 or row[at - 1] is not rarer) for at, each in enumerate(row)
    )
    return 0 < alone == row.count(rarer)


def _changes(row: list[bool]) -> int:
    return sum(row[at] is not row[at - 1] for at in range(1, len(row)))
