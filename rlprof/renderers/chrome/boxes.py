"""Boxes for the samples of a thread, laid out slice by slice.

Of a sample it is known in which slice of the run it lies, not when in it: within a slice the boxes
stand in the order of the calling-context tree, as wide as their share. A box goes on through the next
slices for as long as nothing else came between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Final, NamedTuple

from rlprof.model.detail import Detail, Slice
from rlprof.model.recording import NO_PARENT, Node
from rlprof.names import short_line
from rlprof.renderers.chrome.events import Clock, Event, Numbers, complete, thread_named
from rlprof.report.thread_stacks import StackTime, ThreadStacks, frame_title

THINNEST: Final = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Of a slice: the first is a few ms, less than a sample; the others are for runs of very many stacks."""

MOST_BOXES: Final = 250_000
"""About 45 MB of a file, before joining."""

MOSTLY: Final = 0.5
"""Of a slice. A sample counts for the slice in which it ends, so that slices have a tenth too much or too
little of a thread that was there all along; with less than this it came or went."""


@dataclass(slots=True)
class Box:
    node: int
    start: int
    end: int
    wall_us: int
    idle_us: int
    cpu_us: int

    def extend(self, later: Box) -> None:
        self.end = later.end
        self.wall_us += later.wall_us
        self.idle_us += later.idle_us
        self.cpu_us += later.cpu_us


class _Tree(NamedTuple):
    """What a thread did in one slice."""

    slice: int
    sums: Mapping[int, Sequence[int]]
    """[wall, idle, cpu] of each node with all below it."""
    children: Mapping[int, Sequence[int]]
    """The nodes below each, by id."""
    total_us: int


def thinnest_share(threads: Iterable[ThreadStacks], nodes: Sequence[Node]) -> float:
    """The share of a slice from which on a box is drawn, so that there are not too many."""
    counts = [0] * len(THINNEST)
    for thread in threads:
        for tree in _trees(thread, nodes):
            for position, share in enumerate(THINNEST):
                counts[position] += sum(it[0] >= share * tree.total_us for it in tree.sums.values())
    fitting = (share for share, count in zip(THINNEST, counts, strict=True) if count <= MOST_BOXES)
    return next(fitting, THINNEST[-1])


def boxes(
    thread: ThreadStacks,
    nodes: Sequence[Node],
    slices: Sequence[Slice],
    clock: Clock,
    thinnest: float = THINNEST[0],
) -> Iterator[Box]:
    """Yield the boxes of all slices, those that touch joined, in no order."""
    reaching: dict[int, Box] = {}
    for tree in _trees(thread, nodes):
        piece = slices[tree.slice]
        start = clock.start(piece.start_us)
        end = start + piece.end_us - piece.start_us
        joined: set[int] = {NO_PARENT}
        drawn = []
        for box in _laid_out(tree, start, end, thinnest):
            before = reaching.get(box.node)
            if before is not None and before.end == box.start and nodes[box.node].parent in joined:
                before.extend(box)
                joined.add(box.node)
                drawn.append(before)
            else:
                drawn.append(box)
        yield from (box for node, box in reaching.items() if node not in joined)
        yield from (box for box in drawn if box.end < end)
        reaching = {box.node: box for box in drawn if box.end == end}
    yield from reaching.values()


def _laid_out(tree: _Tree, start: int, end: int, thinnest: float) -> Iterator[Box]:
    """Yield the boxes of one slice, callers before what they call."""
    sums, total = tree.sums, tree.total_us
    width = end - start if total >= MOSTLY * (end - start) else total
    least = max(1, thinnest * total)

    def side_by_side(siblings: Sequence[int], left: int) -> list[tuple[int, int]]:
        """(node, where it begins) of those that can be seen."""
        begins = accumulate((sums[it][0] for it in siblings), initial=left)
        return [it for it in zip(siblings, begins, strict=False) if sums[it[0]][0] >= least]

    pending = side_by_side(tree.children[NO_PARENT], 0)[::-1]
    while pending:
        node, left = pending.pop()
        wall, idle, cpu = sums[node]
        # In whole numbers, so that no box reaches beyond its caller.
        first, last = (start + it * width // total for it in (left, left + wall))
        yield Box(node, first, last, wall, idle, cpu)
        if node in tree.children:
            pending += side_by_side(tree.children[node], left)[::-1]


def _trees(thread: ThreadStacks, nodes: Sequence[Node]) -> Iterator[_Tree]:
    for number, times in groupby(thread.times, key=lambda it: it.slice):
        yield _tree(number, times, nodes)


def _tree(number: int, times: Iterable[StackTime], nodes: Sequence[Node]) -> _Tree:
    sums = {time.node: [time.wall_us, time.idle_us, time.cpu_us] for time in times}
    for node in list(sums):
        above = nodes[node].parent
        while above != NO_PARENT and above not in sums:
            sums[above] = [0, 0, 0]
            above = nodes[above].parent
    children: dict[int, list[int]] = defaultdict(list)
    # A caller's id is smaller than that of what it calls.
    for node in sorted(sums, reverse=True):
        parent = nodes[node].parent
        children[parent].append(node)
        if parent != NO_PARENT:
            above_it, own = sums[parent], sums[node]
            above_it[0] += own[0]
            above_it[1] += own[1]
            above_it[2] += own[2]
    for siblings in children.values():
        siblings.reverse()
    return _Tree(number, sums, children, sum(sums[it][0] for it in children[NO_PARENT]))


# --- boxes as events ------------------------------------------------------------------------


def sample_tracks(
    threads: Iterable[ThreadStacks],
    detail: Detail,
    cwd: str,
    clock: Clock,
    numbers: Numbers,
    *,
    thinnest: float,
) -> Iterator[Event]:
    for position, thread in enumerate(threads):
        pid, tid = thread.process.pid, numbers.another()
        yield from thread_named(pid, tid, f"{thread.name}: samples", 10 + position)
        drawn = boxes(thread, detail.nodes, detail.slices, clock, thinnest)
        # Callers before what they call: of two boxes of one length readers take the first for the outer.
        for box in sorted(drawn, key=lambda it: (it.start, -it.end, it.node)):
            yield _event(box, detail.nodes, cwd, pid, tid)


def _event(box: Box, nodes: Sequence[Node], cwd: str, pid: int, tid: int) -> Event:
    frame = nodes[box.node].frame
    args: dict[str, object] = {"wall_us": box.wall_us, "cpu_us": box.cpu_us}
    if box.idle_us:
        args["waiting_us"] = box.idle_us
    if frame.file:
        args["place"] = short_line(frame.file, frame.line, cwd)
    return complete(frame_title(frame, cwd), "samples", box.start, box.end, pid, tid, **args)
