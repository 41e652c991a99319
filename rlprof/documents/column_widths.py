"""The columns of a table that a terminal has room for, and how wide each is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

_WORD: Final = 12
"""Characters from which on a word may be broken where a terminal is narrow."""

_EASY: Final = 16
"""Characters of a column of words down to which it gives way before others do: its lines are still easy to read."""


@dataclass(frozen=True)
class ColumnNeeds:
    """Characters that a column takes, and what becomes of it where there are too few."""

    longest: int
    """Its longest line."""
    word: int
    """Its longest word, that of its name too: less breaks one, or a figure."""
    least: int
    """Characters that its names keep; 0 for a column that may go."""
    wraps: bool
    """True if its cells may take several lines."""
    goes: int
    """Its place among those that go: the highest goes first, and the last among equals."""


def column_widths(
    columns: Sequence[ColumnNeeds], width: int, gap: int, *, whole: bool
) -> dict[int, int]:
    """Widths by place, for columns with ``gap`` characters between them that take more than ``width``; those that are
    not in it have no room. None goes of a table that is shown ``whole``.

    Names stay: a column that is less important goes before they are cut. Columns of words are made narrower first, then
    the names of columns and the ranges in them take several lines.
    """
    shown = list(range(len(columns)))
    named = [at for at in shown if columns[at].least] or shown[:1]
    may_go = sorted((at for at in shown if at not in named), key=lambda at: (columns[at].goes, at))

    def room() -> int:
        return width - gap * (len(shown) - 1)

    while may_go and not whole and sum(_narrowest(columns[at]) for at in shown) > room():
        shown.remove(may_go.pop())
    widths = {at: columns[at].longest for at in shown}
    _narrow(widths, room(), lambda at: _easy(columns[at]))
    _narrow(widths, room(), lambda at: _narrowest(columns[at]))
    _narrow(widths, room(), lambda _: 1)
    return widths


def _narrowest(column: ColumnNeeds) -> int:
    return min(column.longest, max(column.least, min(column.word, _WORD)))


def _easy(column: ColumnNeeds) -> int:
    return max(_narrowest(column), min(column.longest, _EASY)) if column.wraps else column.longest


def _narrow(widths: dict[int, int], room: int, least: Callable[[int], int]) -> None:
    """Take from the widest column that has more than its least, until all have room or none has more."""
    while sum(widths.values()) > room:
        wide = [at for at in widths if widths[at] > least(at)]
        if not wide:
            return
        widths[max(wide, key=lambda at: widths[at])] -= 1
