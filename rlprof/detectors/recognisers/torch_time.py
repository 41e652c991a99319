"""The time that some lines of the user's spend in torch, in C and in its Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from rlprof.model.calltree import CallTree
from rlprof.source.lines import Line, UserLines
from rlprof.syntax.origin import installed_package

_TORCH: Final = "torch"


@dataclass(frozen=True, slots=True)
class TorchTime:
    """Nodes of the steady phase, and the lines they are laid on."""

    nodes: frozenset[int]
    weights: Mapping[Line, float]
    """µs by line."""

    @property
    def total_us(self) -> float:
        return sum(self.weights.values())

    @property
    def heaviest(self) -> Line:
        return max(self.weights, key=lambda line: (self.weights[line], line))


def torch_time(
    tree: CallTree, lines: UserLines, places: Mapping[str, Collection[int]]
) -> TorchTime:
    """The time of the lines in ``places`` (numbers by file): their own, and of torch right below them."""
    nodes: set[int] = set()
    weights: dict[Line, float] = defaultdict(float)
    for node in tree.hot_nodes() if any(places.values()) else ():
        frame = tree.frame(node)
        if frame.line not in places.get(frame.file, ()) or not lines.is_yours(frame):
            continue
        below = (it for it in tree.children(node) if _is_torch(tree.frame(it).file))
        claimed = {node}.union(*(tree.subtree(it) for it in below)) - nodes
        nodes |= claimed
        us = sum(tree.self_cost(it).wall_us for it in claimed)
        if us:
            weights[lines.line(node)] += us
    return TorchTime(frozenset(nodes), weights)


def _is_torch(file: str) -> bool:
    return installed_package(file) == _TORCH
