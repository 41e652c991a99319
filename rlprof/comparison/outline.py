"""Tell what is shown of a tree of changes: the boxes wide enough to draw, and the few that changed most."""

from __future__ import annotations

from collections.abc import Container, Mapping
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
        if heaviest >= 0 and _is_all_of(tree.boxes[heaviest], tree.boxes[at]):
            through[heaviest] = (*callers, tree.boxes[at])
        else:
            left[at] = callers
    return left


def _is_all_of(called: ChangeBox, caller: ChangeBox) -> bool:
    return called.change_us / caller.change_us >= _ALL_OF_IT


def _nearest(tree: ChangeTree, at: int, among: Container[int]) -> int:
    """The nearest caller of a box that is among some; -1 for none."""
    above = tree.boxes[at].parent
    while above >= 0 and above not in among:
        above = tree.boxes[above].parent
    return above
