"""The call tree of a page: imports in one box, and no more nodes and cells than a page can carry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from rlprof.model.detail import Detail
from rlprof.model.recording import NO_PARENT, Frame, Node
from rlprof.pace.times import importing_nodes
from rlprof.profile.flame import IMPORT_LABEL
from rlprof.syntax.origin import is_import_machinery

MOST_NODES: Final = 30_000
"""Most nodes of the tree, the heaviest: 240 kB of the page."""

MOST_CELLS: Final = 150_000
"""Times by slice, thread and node: a run file holds 120 000 rows at most."""

SURE_OF_A_FINDING: Final = 20
"""Its heaviest nodes that are kept whatever they weigh, so that it can be shown in the flamegraph."""

IMPORT: Final = Frame("", IMPORT_LABEL, 0)
"""Stands for the four or five frames of the import system that each import consists of."""


class KeptNode(NamedTuple):
    parent: int
    frame: Frame
    importing: bool
    """True if its time belongs to an import, as ``profile/fold.py`` tells."""


class Cells(NamedTuple):
    """Self times by slice, thread and node, as columns in that order."""

    slice: Sequence[int] = ()
    thread: Sequence[int] = ()
    node: Sequence[int] = ()
    wall_us: Sequence[int] = ()
    idle_us: Sequence[int] = ()
    cpu_us: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class PageTree:
    nodes: tuple[KeptNode, ...]
    """A parent comes before its children."""
    cells: Cells
    finding_nodes: tuple[tuple[int, tuple[int, ...]], ...]
    """(rank, nodes), as in ``Detail``, of the nodes that were kept."""
    pruned_share: float
    """Share of the wall time: what was moved to a caller because its own node was left out."""


def page_tree(
    detail: Detail, *, most_nodes: int = MOST_NODES, most_cells: int = MOST_CELLS
) -> PageTree:
    """The heaviest nodes of ``detail``. The time of those left out stays with their callers."""
    merged = _merge_imports(detail.nodes)
    totals = _totals(detail, merged)
    first = set(_of_findings(detail, merged, totals))
    by_weight = sorted(range(len(totals)), key=lambda node: (-totals[node], node))
    heaviest = [node for node in by_weight if totals[node] > 0]
    while True:
        # The time of roots could go nowhere else.
        roots = (node for node in heaviest if merged.parent[node] == NO_PARENT)
        kept = first.union(heaviest[:most_nodes], roots)
        place = _places(merged, kept)
        tree = _pruned(detail, merged, kept, place)
        if len(tree.cells.node) <= most_cells or most_nodes < 2:
            return tree
        most_nodes //= 2


class _Merged(NamedTuple):
    """The tree with the frames of an import in one node."""

    parent: list[int]
    frame: list[Frame]
    importing: list[bool]
    of_node: list[int]
    """For each node of the detail, its node here."""


def _merge_imports(nodes: Sequence[Node]) -> _Merged:
    importing = importing_nodes(nodes)
    merged = _Merged([], [], [], [])
    imports: dict[int, int] = {}
    for node in nodes:
        parent = NO_PARENT if node.parent == NO_PARENT else merged.of_node[node.parent]
        is_import = is_import_machinery(node.frame)
        if is_import:
            if parent != NO_PARENT and merged.frame[parent] is IMPORT:
                merged.of_node.append(parent)
                continue
            if parent in imports:
                merged.of_node.append(imports[parent])
                continue
            imports[parent] = len(merged.parent)
        merged.of_node.append(len(merged.parent))
        merged.parent.append(parent)
        merged.frame.append(IMPORT if is_import else node.frame)
        merged.importing.append(bool(importing[node.id]))
    return merged


def _totals(detail: Detail, merged: _Merged) -> list[int]:
    """Wall time of each node and all below it (µs)."""
    totals = [0] * len(merged.parent)
    for node, wall in zip(detail.samples.node, detail.samples.wall_us, strict=True):
        totals[merged.of_node[node]] += wall
    for node in range(len(totals) - 1, -1, -1):
        if merged.parent[node] != NO_PARENT:
            totals[merged.parent[node]] += totals[node]
    return totals


def _of_findings(detail: Detail, merged: _Merged, totals: Sequence[int]) -> Iterable[int]:
    """Yield the heaviest nodes of each finding, with their callers."""
    for _, nodes in detail.finding_nodes:
        own = {merged.of_node[node] for node in nodes}
        timed = [node for node in own if totals[node] > 0]
        for node in sorted(timed, key=lambda node: (-totals[node], node))[:SURE_OF_A_FINDING]:
            at = node
            while at != NO_PARENT:
                yield at
                at = merged.parent[at]


def _places(merged: _Merged, kept: set[int]) -> list[int]:
    """For each node the number of what stands for it: its own, or that of the nearest caller kept."""
    places: list[int] = []
    count = 0
    for node, parent in enumerate(merged.parent):
        if node in kept:
            places.append(count)
            count += 1
        else:
            places.append(NO_PARENT if parent == NO_PARENT else places[parent])
    return places


def _pruned(detail: Detail, merged: _Merged, kept: set[int], place: Sequence[int]) -> PageTree:
    samples, of_node = detail.samples, merged.of_node
    costs = samples.summed(lambda slice_, thread, node: (slice_, thread, place[of_node[node]]))
    total = sum(samples.wall_us)
    timed = zip(samples.node, samples.wall_us, strict=True)
    moved = sum(wall for node, wall in timed if of_node[node] not in kept)
    keys = sorted(costs)
    columns = (*zip(*keys, strict=True), *zip(*map(costs.__getitem__, keys), strict=True))
    return PageTree(
        nodes=tuple(
            KeptNode(
                NO_PARENT if merged.parent[node] == NO_PARENT else place[merged.parent[node]],
                merged.frame[node],
                merged.importing[node],
            )
            for node in sorted(kept)
        ),
        cells=Cells(*columns),
        finding_nodes=tuple(
            (
                rank,
                tuple(sorted({place[of_node[node]] for node in nodes if of_node[node] in kept})),
            )
            for rank, nodes in detail.finding_nodes
        ),
        pruned_share=moved / total if total else 0.0,
    )
