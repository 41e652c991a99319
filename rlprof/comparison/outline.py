"""Tell what is shown of a tree of changes: the boxes wide enough to draw, the few that changed most, and functions that grew."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from rlprof.comparison.calltree import ChangeBox, ChangeTree

THINNEST_SHARE: Final = 1 / 4000
"""Share of the root, as in ``profile/flame.py``."""

MOST_BOXES: Final = 20_000
"""Most boxes of a document: about 2 MB, whatever the runs."""

_LEAST_OF_LARGEST: Final = 0.02
"""Part of the largest change below which a change is not in the outline."""

_NEXT_TO_NOTHING: Final = 0.01
"""Part of its cost in the other run below which a function is as good as gone."""

_ALL_OF_IT: Final = 0.9
"""Part of a caller's change from which on it is that of the one function it calls."""


class Drawn(NamedTuple):
    """Boxes to draw, in preorder, and the share of the time that is in none of its own."""

    boxes: tuple[ChangeBox, ...]
    pruned_share: float
    places: Mapping[int, int]
    """Place in ``boxes`` by the place in the tree."""


def width_us(box: ChangeBox) -> float:
    """The mean of both runs: what vanished and what appeared are both in sight, and widths add up."""
    return (box.base.us + box.new.us) / 2


def drawn(tree: ChangeTree, thinnest_share: float = THINNEST_SHARE) -> Drawn:
    """Boxes at least so wide, and at most ``MOST_BOXES``; the time of others stays with their callers."""
    found = _drawn(tree, thinnest_share)
    while len(found.boxes) > MOST_BOXES:
        thinnest_share *= 2
        found = _drawn(tree, thinnest_share)
    return found


def _drawn(tree: ChangeTree, thinnest_share: float) -> Drawn:
    whole = width_us(tree.boxes[0])
    place: dict[int, int] = {}
    boxes: list[ChangeBox] = []
    pruned = 0.0
    for at, box in enumerate(tree.boxes):
        if at and box.parent not in place:
            continue
        if at and width_us(box) < thinnest_share * whole:
            pruned += width_us(box)
            continue
        place[at] = len(boxes)
        boxes.append(replace(box, parent=place[box.parent] if at else -1))
    return Drawn(tuple(boxes), pruned / whole if whole else 0.0, place)


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A clear change, below the one that it is a part of."""

    at: int
    """Its place in the tree."""
    depth: int
    box: ChangeBox
    through: tuple[ChangeBox, ...]
    """Callers left out because the change is all in this function; the outermost first."""
    own_caller: ChangeBox | None = None
    """The nearest of the user's, for a function that is not, unless a row above shows it or has it."""


def outline(tree: ChangeTree, most: int, *, waits: bool = False) -> tuple[OutlineRow, ...]:
    """The clear changes of functions at work, at most so many, in the order of the tree; with
    ``waits`` those of functions that mostly wait too.
    """
    clear = [
        at
        for at, box in enumerate(tree.boxes)
        if box.is_clear and box.kind not in ("root", "process") and (waits or not box.is_waiting)
    ]
    if not clear:
        return ()
    largest = max(abs(tree.boxes[at].change_us) for at in clear)
    kept = {at for at in clear if abs(tree.boxes[at].change_us) >= _LEAST_OF_LARGEST * largest}
    merged = _merged_chains(tree, _without_parts_of_the_gone(tree, kept))
    by_size = sorted(merged, key=lambda at: -abs(tree.boxes[at].change_us))
    shown = set(by_size[:most])
    rows = []
    depths: dict[int, int] = {}
    for at in sorted(shown):
        above = _nearest(tree, at, shown)
        depths[at] = depths[above] + 1 if above >= 0 else 0
        caller = _own_caller(tree, at, above)
        rows.append(OutlineRow(at, depths[at], tree.boxes[at], merged[at], caller))
    return tuple(rows)


def nearest_own(tree: ChangeTree, at: int) -> int:
    """The nearest caller of a box that is the user's; -1 for none."""
    above = tree.boxes[at].parent
    while above >= 0 and tree.boxes[above].kind != "yours":
        above = tree.boxes[above].parent
    return above


def _own_caller(tree: ChangeTree, at: int, row_above: int) -> ChangeBox | None:
    caller = -1 if tree.boxes[at].kind == "yours" else nearest_own(tree, at)
    # In preorder, what is nearer has the larger number.
    return tree.boxes[caller] if caller > row_above else None


def _without_parts_of_the_gone(tree: ChangeTree, kept: set[int]) -> set[int]:
    """Return what a function called that one run lacks goes without saying."""
    left: set[int] = set()
    said: set[int] = set()
    for at in sorted(kept):
        above = _nearest(tree, at, kept)
        if above in said or (above >= 0 and _is_of_one_run(tree.boxes[above])):
            said.add(at)
        else:
            left.add(at)
    return left


def _is_of_one_run(box: ChangeBox) -> bool:
    return min(box.base.us, box.new.us) < _NEXT_TO_NOTHING * max(box.base.us, box.new.us)


def _merged_chains(tree: ChangeTree, kept: set[int]) -> dict[int, tuple[ChangeBox, ...]]:
    """Boxes that are left when a caller goes whose change is all in one function that it calls."""
    below: dict[int, list[int]] = {}
    for at in sorted(kept):
        below.setdefault(_nearest(tree, at, kept), []).append(at)
    through: dict[int, tuple[ChangeBox, ...]] = {}
    left: dict[int, tuple[ChangeBox, ...]] = {}
    for at in sorted(kept):
        callers = through.get(at, ())
        called = below.get(at, [])
        heaviest = max(called, key=lambda box: abs(tree.boxes[box].change_us), default=-1)
        change_us = tree.boxes[at].change_us
        if heaviest >= 0 and tree.boxes[heaviest].change_us / change_us >= _ALL_OF_IT:
            through[heaviest] = (*callers, tree.boxes[at])
        else:
            left[at] = callers
    return left


def _nearest(tree: ChangeTree, at: int, among: Container[int]) -> int:
    """The nearest caller of a box that is among some; -1 for none."""
    above = tree.boxes[at].parent
    while above >= 0 and above not in among:
        above = tree.boxes[above].parent
    return above


# --- functions that clearly take longer, named where the reader can change them -----------------

_MOST_ROWS: Final = 40
"""Most rows of the outline, among which the few that grew most are looked for."""

_MOSTLY_BELOW: Final = 0.5
"""Part of a function's growth that others tell already, from which on it is not told a second time."""

_NOTHING_BESIDE_WAITS: Final = 0.05
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
        if known is not None:
            base_us, new_us = known.base_us + grown.base_us, known.new_us + grown.new_us
            grown = replace(known, base_us=base_us, new_us=new_us)
        found[key] = grown
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
    if any(row.box.change_us >= _NOTHING_BESIDE_WAITS * most for row in work):
        return work
    return all_


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
