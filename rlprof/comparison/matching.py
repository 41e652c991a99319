"""Tell which box of one run's call tree is which of the other's."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from rlprof.comparison.stacks import Stacks

NOWHERE: Final = -1
"""In place of a box in the run that lacks it."""

_NAMELESS: Final = frozenset({"<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"})
"""Names that say nothing: only the file tells whether two are the same."""


class MatchedBoxes(NamedTuple):
    """The same box in both runs."""

    base: int
    new: int
    parent: int
    """Place of the caller's pair."""


def paired(base: Stacks, new: Stacks) -> list[MatchedBoxes]:
    """The boxes of both runs matched from the root on, in preorder; siblings by name."""
    below = _children(base), _children(new)
    pairs: list[MatchedBoxes] = []
    pending = [MatchedBoxes(0, 0, NOWHERE)]
    while pending:
        pair = pending.pop()
        matched = _matched(below[0].get(pair.base, {}), below[1].get(pair.new, {}))
        at = len(pairs)
        pairs.append(pair)
        pending.extend(MatchedBoxes(was, now, at) for was, now in reversed(matched))
    return pairs


_Key = tuple[str, str]
"""Label and place of a box."""


def _children(stacks: Stacks) -> dict[int, dict[_Key, int]]:
    below: dict[int, dict[_Key, int]] = {}
    for at, box in enumerate(stacks.boxes):
        if at:
            below.setdefault(box.parent, {})[box.label, box.place] = at
    return below


def _matched(base: dict[_Key, int], new: dict[_Key, int]) -> list[tuple[int, int]]:
    """Boxes below one caller: first those with the same name and file; then, since files are renamed,
    those whose name only one box of each run has.
    """
    found = [(key, base[key], new[key]) for key in base.keys() & new.keys()]
    left = [
        {key: at for key, at in side.items() if key not in base or key not in new}
        for side in (base, new)
    ]
    for label in _single_names(left[0]) & _single_names(left[1]):
        keys = [next(key for key in side if key[0] == label) for side in left]
        found.append((keys[1], left[0].pop(keys[0]), left[1].pop(keys[1])))
    found += [(key, at, NOWHERE) for key, at in left[0].items()]
    found += [(key, NOWHERE, at) for key, at in left[1].items()]
    return [(was, now) for _, was, now in sorted(found)]


def _single_names(boxes: dict[_Key, int]) -> set[str]:
    names = Counter(label for label, _ in boxes)
    return {name for name, number in names.items() if number == 1 and name not in _NAMELESS}
