"""Functions that clearly take longer in the new run, named where the reader can change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from rlprof.comparison.calltree import ChangeBox, ChangeTree
from rlprof.comparison.outline import OutlineRow, nearest_own, outline

_MOST_ROWS: Final = 40
"""Most rows of the outline, among which the few that grew most are looked for."""

_ALL_OF_IT: Final = 0.9
"""Part of a function's growth from which on it is that of the one function it calls."""

_MOSTLY_BELOW: Final = 0.5
"""Part of a function's growth that others tell already, from which on it is not told a second time."""

_NEXT_TO_NOTHING: Final = 0.05
"""Part of the largest wait's growth: of a wait that many processes share, all count."""


@dataclass(frozen=True, slots=True)
class GrownFunction:
    """Costs are for a step, or for a second of steady time, with what it calls."""

    label: str
    place: str
    line: int
    """The one that calls ``inside``; without that the one that surely grew; 0 where no line is known."""
    kind: str
    """As of ``FlameFrame``: ``yours`` where the growth passes through a file of the user's."""
    inside: str
    """The function it calls in which it grew; empty where that is nothing in particular."""
    base_us: float
    """0 for what was not seen in base: it may have been too brief to be sampled."""
    new_us: float
    waits: bool
    """True if most of it is waiting, in the run in which it costs more."""

    @property
    def change_us(self) -> float:
        return self.new_us - self.base_us


def grown_functions(tree: ChangeTree | None, most: int) -> tuple[GrownFunction, ...]:
    """The clear growth of functions at work, the largest first; of a caller only what is its own."""
    if tree is None:
        return ()
    below = _children(tree)
    found: dict[tuple[str, str, str], GrownFunction] = {}
    # The largest first: where several are the same place in the code, its line is the one told.
    each = (_named(row, tree, below) for row in _rows(tree))
    for grown in sorted(each, key=lambda function: -function.change_us):
        key = (grown.label, grown.place, grown.inside)
        known = found.get(key)
        # Another role, or another caller: the same place in the code.
        found[key] = grown if known is None else _together(known, grown)
    ordered = sorted(
        found.values(),
        key=lambda function: (-function.change_us, function.label, function.place, function.inside),
    )
    return tuple(ordered[:most])


def _rows(tree: ChangeTree) -> list[OutlineRow]:
    """Return the rows of work; of waits too where work explains next to nothing: who waits for another that became
    slower is not to blame, but somebody who now sleeps is.
    """
    work, all_ = (
        _without_callers_of_others(outline(tree, _MOST_ROWS, waits=waits))
        for waits in (False, True)
    )
    most = max((row.box.change_us for row in all_), default=0.0)
    if any(row.box.change_us >= _NEXT_TO_NOTHING * most for row in work):
        return work
    return all_


def _together(one: GrownFunction, other: GrownFunction) -> GrownFunction:
    return replace(one, base_us=one.base_us + other.base_us, new_us=one.new_us + other.new_us)


def _children(tree: ChangeTree) -> Mapping[int, Sequence[int]]:
    below: dict[int, list[int]] = {}
    for at, box in enumerate(tree.boxes):
        below.setdefault(box.parent, []).append(at)
    return below


def _without_callers_of_others(rows: Sequence[OutlineRow]) -> list[OutlineRow]:
    """Rows that grew, but for those whose growth is mostly in rows below them."""
    kept = []
    for number, row in enumerate(rows):
        if row.box.change_us <= 0:
            continue
        told = 0.0
        for other in rows[number + 1 :]:
            if other.depth <= row.depth:
                break
            if other.depth == row.depth + 1:
                told += max(0.0, other.box.change_us)
        if told < _MOSTLY_BELOW * row.box.change_us:
            kept.append(row)
    return kept


class _Chain(NamedTuple):
    """Functions that call one another, each with nearly all of the growth of the one before."""

    boxes: tuple[ChangeBox, ...]

    @property
    def last_own(self) -> int:
        """The innermost that is the user's; -1 for none."""
        own = (at for at, box in enumerate(self.boxes) if box.kind == "yours")
        return max(own, default=-1)


def _named(row: OutlineRow, tree: ChangeTree, below: Mapping[int, Sequence[int]]) -> GrownFunction:
    chain = _chain(row.at, tree, below)
    at = chain.last_own
    if at >= 0:
        called = chain.boxes[at + 1] if at + 1 < len(chain.boxes) else None
        return _grown(chain.boxes[at], chain.boxes[at], called)
    caller = nearest_own(tree, row.at)
    if caller < 0:
        return _grown(row.box, row.box, None)
    return _grown(tree.boxes[caller], row.box, row.box)


def _chain(at: int, tree: ChangeTree, below: Mapping[int, Sequence[int]]) -> _Chain:
    """From a box down: an outline leaves out what one run lacks altogether, and all below it."""
    boxes = [tree.boxes[at]]
    while True:
        called = max(below.get(at, ()), key=lambda box: tree.boxes[box].change_us, default=-1)
        if called < 0 or tree.boxes[called].change_us < _ALL_OF_IT * boxes[-1].change_us:
            return _Chain(tuple(boxes))
        at = called
        boxes.append(tree.boxes[at])


def _grown(named: ChangeBox, measured: ChangeBox, inside: ChangeBox | None) -> GrownFunction:
    return GrownFunction(
        label=named.label,
        place=named.place,
        line=_line_that_grew(named) if inside is None else inside.called_on,
        kind=named.kind,
        inside="" if inside is None else inside.label,
        base_us=measured.base.us,
        new_us=measured.new.us,
        waits=measured.is_waiting,
    )


def _line_that_grew(box: ChangeBox) -> int:
    """The longest, where it alone takes longer than all lines did in base; else 0: which line of base
    it was is not known.
    """
    return box.line if box.line_share * box.new.us > box.base.us else 0
