"""Kinds of calls of one function: the counter that each counts in, for how many, and its share of all calls."""

from __future__ import annotations

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable

    Told = tuple[Any, int]
    """The counter that a call counts in, and for how many."""
    Kind = Callable[[FrameType, Any], Told]
    """Tells it by the frame of the call and its first argument."""

NOT_AT_ALL: Told = (None, 0)
"""Told by its identity."""
_FEW_CHANGES = 4
"""Most changes of the kind in a row that is no mixture, but the end of one part of the program and the beginning of another; unless one of the kinds
stands alone each time.
"""
_FEWEST_CALLS = 16
"""Fewest of a row that tell so: where looks are dear it ends after one."""


class CallKinds:
    """The kinds of calls of one function that count, by the last looks at some."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[_Part] = []

    def __bool__(self) -> bool:
        return bool(self._parts)

    @property
    def are_mixed(self) -> bool:
        return any(part.share < 1 for part in self._parts)

    def are(self, told: Told) -> bool:
        """Tell whether all calls are of the kind ``told``."""
        return [part.told for part in self._parts] == [told] * is_counted(told)

    def become(self, told: Told) -> None:
        self._become([(told, 1.0)])

    def become_as_in(self, row: list[Told]) -> None:
        """``row`` has the kinds of calls in a row."""
        self._become(shares_of(row))

    def add(self, calls: int) -> None:
        """Count so many calls, of which nothing more is known than what parts of them are."""
        if calls > 0:
            for part in self._parts:
                part.add(calls)

    def _become(self, shares: list[tuple[Told, float]]) -> None:
        self._parts = [_Part(told, share) for told, share in shares if is_counted(told)]


class _Part:
    """A kind of calls that count, and its share of all calls."""

    __slots__ = ("_owed", "share", "told")

    def __init__(self, told: Told, share: float) -> None:
        self.told, self.share = told, share
        self._owed = 0.0
        """A part of a call."""

    def add(self, calls: int) -> None:
        counter, each = self.told
        owed = self._owed + calls * self.share
        self._owed = owed % 1
        counter.add(int(owed) * each)


def is_counted(told: Told) -> bool:
    return told[0] is not None


def shares_of(row: list[Told]) -> list[tuple[Told, float]]:
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
    told: list[Told] = []
    for at in counted:
        if row[at] not in told:
            told.append(row[at])
    return [(kind, each * row.count(kind)) for kind in told]


def is_unclear(row: list[Told]) -> bool:
    """Tell whether a longer one would tell more of a mixture: where an environment that makes 25 steps at once stands between two wrappers of one class,
    one call of 26 counts.
    """
    return _changes(row) <= _FEW_CHANGES and _is_sprinkled(row)


def _is_mixture(row: list[Told]) -> bool:
    return _changes(row) > _FEW_CHANGES or _is_sprinkled(row)


def _is_sprinkled(row: list[Told]) -> bool:
    """Tell whether there are two kinds, of which the rarer one stands alone each time."""
    one, other = row[0], next((kind for kind in row if kind != row[0]), row[0])
    if len(row) < _FEWEST_CALLS or row.count(one) + row.count(other) != len(row):
        return False
    rarer = one if row.count(one) < row.count(other) else other
    alone = sum(kind == rarer and (at == 0 or row[at - 1] != rarer) for at, kind in enumerate(row))
    return bool(0 < alone == row.count(rarer))


def _changes(row: list[Told]) -> int:
    return sum(row[at] != row[at - 1] for at in range(1, len(row)))
