"""Boxes for the samples of a thread, laid out slice by slice.

Of a sample it is known in which slice of the run it lies, not when in it: within a slice the boxes
stand in the order of the calling-context tree, as wide as their share. A box goes on through the next
slices for as long as nothing else came between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Final

from rlprof.model.calltree import CallTree, Cost
from rlprof.model.detail import Detail, Slice
from rlprof.model.recording import NO_PARENT, Node
from rlprof.names import short_line
from rlprof.renderers.chrome.events import Clock, Event, complete, thread_named
from rlprof.report.thread_stacks import ThreadStacks, frame_title

THINNEST: Final = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Parts of a slice: the first is a few ms, less than a sample; the others are for runs of very many stacks."""

MOST_BOXES: Final = 250_000
"""About 45 MB of a file, before joining."""

MOSTLY: Final = 0.5
"""Part of a slice. A sample counts for the slice in which it ends, so that slices have a tenth too much or too
little of a thread that was there all along; with less than this it came or went."""


@dataclass(slots=True)
class Box:
    node: int
    start: int
    end: int
    cost: Cost

    def extend(self, later: Box) -> None:
        self.end = later.end
        self.cost = self.cost.plus(later.cost)


def thinnest_share(threads: Iterable[ThreadStacks], nodes: tuple[Node, ...]) -> float:
    """The share of a slice from which on a box is drawn, so that there are not too many."""
    counts = [0] * len(THINNEST)
    for thread in threads:
        for _, tree in _trees(thread, nodes):
            times, total = (
                [tree.total_cost(node).wall_us for node in tree.hot_nodes()],
                tree.total.wall_us,
            )
            for position, share in enumerate(THINNEST):
                counts[position] += sum(time >= share * total for time in times)
    fitting = (share for share, count in zip(THINNEST, counts, strict=True) if count <= MOST_BOXES)
    return next(fitting, THINNEST[-1])


def boxes(
    thread: ThreadStacks,
    nodes: tuple[Node, ...],
    slices: Sequence[Slice],
    clock: Clock,
    thinnest: float = THINNEST[0],
) -> Iterator[Box]:
    """Yield the boxes of all slices, those that touch joined, in no order."""
    reaching: dict[int, Box] = {}
    for number, tree in _trees(thread, nodes):
        piece = slices[number]
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


def _laid_out(tree: CallTree, start: int, end: int, thinnest: float) -> Iterator[Box]:
    """Yield the boxes of one slice, callers before what they call."""
    total = tree.total.wall_us
    width = end - start if total >= MOSTLY * (end - start) else total
    least = max(1, thinnest * total)

    def side_by_side(siblings: Sequence[int], left: int) -> list[tuple[int, int]]:
        """(node, where it begins) of those that can be seen."""
        times = [tree.total_cost(sibling).wall_us for sibling in siblings]
        begins = accumulate(times, initial=left)
        seen = zip(siblings, begins, times, strict=False)
        return [(node, begin) for node, begin, time in seen if time >= least]

    pending = side_by_side(tree.roots(), 0)[::-1]
    while pending:
        node, left = pending.pop()
        cost = tree.total_cost(node)
        # In whole numbers, so that no box reaches beyond its caller.
        first, last = (start + edge * width // total for edge in (left, left + cost.wall_us))
        yield Box(node, first, last, cost)
        pending += side_by_side(tree.children(node), left)[::-1]


def _trees(thread: ThreadStacks, nodes: tuple[Node, ...]) -> Iterator[tuple[int, CallTree]]:
    """Yield what the thread did in each slice."""
    for number, times in groupby(thread.times, key=lambda time: time.slice):
        costs = {time.node: Cost(time.wall_us, time.idle_us, time.cpu_us) for time in times}
        yield number, CallTree(nodes, costs)


# --- boxes as events ------------------------------------------------------------------------


def sample_tracks(
    threads: Iterable[ThreadStacks],
    detail: Detail,
    cwd: str,
    clock: Clock,
    numbers: Iterator[int],
    *,
    thinnest: float,
) -> Iterator[Event]:
    for position, thread in enumerate(threads):
        pid, tid = thread.process.pid, next(numbers)
        yield from thread_named(pid, tid, f"{thread.name}: samples", 10 + position)
        drawn = boxes(thread, detail.nodes, detail.slices, clock, thinnest)
        # Callers before what they call: of two boxes of one length readers take the first for the outer.
        for box in sorted(
            drawn, key=lambda drawn_box: (drawn_box.start, -drawn_box.end, drawn_box.node)
        ):
            yield _event(box, detail.nodes, cwd, pid, tid)


def _event(box: Box, nodes: Sequence[Node], cwd: str, pid: int, tid: int) -> Event:
    frame = nodes[box.node].frame
    args: dict[str, object] = {"wall_us": box.cost.wall_us, "cpu_us": box.cost.cpu_us}
    if box.cost.idle_us:
        args["waiting_us"] = box.cost.idle_us
    if frame.file:
        args["place"] = short_line(frame.file, frame.line, cwd)
    return complete(frame_title(frame, cwd), "samples", box.start, box.end, pid, tid, **args)
