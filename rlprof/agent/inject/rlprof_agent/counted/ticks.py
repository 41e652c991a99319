"""Ticks, by which calls are counted, and rows of calls that are looked at one by one."""

from __future__ import annotations

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable

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


def shares_of(row: list[Any], is_counted: Callable[[Any], bool]) -> list[tuple[Any, float]]:
    """The kinds of calls that count, by a row of kinds of calls, each with its part of all calls.

    Of calls within calls it is taken from one that counts to the last that does: so whole ones are taken, with all that are made within.
    """
    if not _is_mixture(row):
        return [(row[-1], 1.0)] if is_counted(row[-1]) else []
    counted = [at for at, kind in enumerate(row) if is_counted(kind)]
    span = counted[-1] - counted[0]
    if len(counted) == len(row) or not span:
        each = 1 / len(row)
    else:
        each = (len(counted) - 1) / span / len(counted)
    told: list[Any] = []
    for at in counted:
        if row[at] not in told:
            told.append(row[at])
    return [(kind, each * row.count(kind)) for kind in told]


def is_unclear(row: list[Any]) -> bool:
    """Tell whether a longer one would tell more of a mixture: where an environment that makes 25 steps at once stands between two wrappers of one class,
    one call of 26 counts.
    """
    return _changes(row) <= _FEW_CHANGES and _is_sprinkled(row)


def _is_mixture(row: list[Any]) -> bool:
    return _changes(row) > _FEW_CHANGES or _is_sprinkled(row)


def _is_sprinkled(row: list[Any]) -> bool:
    """Tell whether there are two kinds, of which the rarer one stands alone each time."""
    one, other = row[0], next((kind for kind in row if kind != row[0]), row[0])
    if len(row) < _FEWEST_CALLS or row.count(one) + row.count(other) != len(row):
        return False
    rarer = one if row.count(one) < row.count(other) else other
    alone = sum(kind == rarer and (at == 0 or row[at - 1] != rarer) for at, kind in enumerate(row))
    return bool(0 < alone == row.count(rarer))


def _changes(row: list[Any]) -> int:
    return sum(row[at] != row[at - 1] for at in range(1, len(row)))
