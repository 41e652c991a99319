"""Sums over the samples: self time per node of each tree, and what the critical threads spend in each quarter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from operator import add
from typing import Final

from rlprof.model.calltree import Cost
from rlprof.model.profile import Quarter
from rlprof.model.recording import Recording
from rlprof.pace.pace import Pace
from rlprof.pace.times import Times

QUARTERS: Final = 4


class TimeTree(IntEnum):
    """Tree that the time of one thread in one window belongs to, besides the whole."""

    ELSEWHERE = 0
    """None."""
    BESIDE = 1
    """None, but imports of a main thread there are start-up."""
    START_UP = 2
    CRITICAL = 3
    HELPING = 4
    """Work of other processes while critical threads run."""


class NodeSums:
    """Self time per node, as columns as long as the call tree."""

    __slots__ = ("cpu_us", "idle_us", "wall_us")

    def __init__(self, nodes: int) -> None:
        self.wall_us: list[float] = [0] * nodes
        self.idle_us: list[float] = [0] * nodes
        self.cpu_us: list[float] = [0] * nodes

    def plus(self, other: NodeSums) -> NodeSums:
        total = NodeSums(0)
        total.wall_us = list(map(add, self.wall_us, other.wall_us))
        total.idle_us = list(map(add, self.idle_us, other.idle_us))
        total.cpu_us = list(map(add, self.cpu_us, other.cpu_us))
        return total

    def costs(self) -> dict[int, Cost]:
        """The nodes that have time, in whole µs."""
        columns = zip(self.wall_us, self.idle_us, self.cpu_us, strict=True)
        return {
            node: Cost(round(wall), round(idle), round(cpu))
            for node, (wall, idle, cpu) in enumerate(columns)
            if wall > 0 or cpu > 0
        }


@dataclass(frozen=True, slots=True)
class Timeline:
    """The part of the run's own time that a µs of start-up stands for, in each window."""

    active: Sequence[float]
    """For work and for reading imports."""
    idle: Sequence[float]
    """For waits, which count only where nobody works."""


@dataclass(frozen=True, slots=True)
class Folded:
    critical: NodeSums
    helping: NodeSums
    start_up: NodeSums
    """On the run's own timeline."""
    other: NodeSums
    """All the rest, start-up included as it was seen."""
    seen_by: list[int]
    """For each node a bit mask of ``marks`` of the threads it has time in."""

    def whole(self) -> NodeSums:
        return self.critical.plus(self.helping).plus(self.other)


def fold(
    recording: Recording,
    importing: bytearray,
    places: bytearray,
    timeline: Timeline,
    marks: Sequence[int],
    weights: Sequence[float],
) -> Folded:
    """All trees' self times in one pass; ``places`` holds a ``TimeTree`` per cell of ``Times``.

    ``weights``: how much the work of each helping thread counts; what does not goes to ``other``,
    which is negative where the work counts more than once.
    """
    nodes, count = len(recording.nodes), len(recording.windows)
    folded = Folded(NodeSums(nodes), NodeSums(nodes), NodeSums(nodes), NodeSums(nodes), [0] * nodes)
    # Plain ints and tuples: this loop sees every sample, and enums are slow in it.
    elsewhere, start_up = int(TimeTree.ELSEWHERE), int(TimeTree.START_UP)
    helping = int(TimeTree.HELPING)
    other = _columns(folded.other)
    steady = {int(place): other for place in TimeTree}
    steady[TimeTree.CRITICAL] = _columns(folded.critical)
    steady[TimeTree.HELPING] = _columns(folded.helping)
    start_wall, start_idle, start_cpu = _columns(folded.start_up)
    seen_by = folded.seen_by
    for window, thread, node, wall, idle, cpu in recording.samples.rows():
        place = places[thread * count + window]
        seen_by[node] |= marks[thread]
        if place == start_up or (importing[node] and place != elsewhere):
            wall_us, idle_us, cpu_us = other
            active = timeline.active[window]
            idle_part = idle * (active if importing[node] else timeline.idle[window])
            start_wall[node] += (wall - idle) * active + idle_part
            start_idle[node] += idle_part
            start_cpu[node] += cpu * active
        else:
            wall_us, idle_us, cpu_us = steady[place]
            if place == helping and weights[thread] != 1:
                weight = weights[thread]
                wall_us[node] += wall * weight
                idle_us[node] += idle * weight
                cpu_us[node] += cpu * weight
                rest = 1 - weight
                other[0][node] += wall * rest
                other[1][node] += idle * rest
                other[2][node] += cpu * rest
                continue
        wall_us[node] += wall
        idle_us[node] += idle
        cpu_us[node] += cpu
    return folded


def _columns(sums: NodeSums) -> tuple[list[float], list[float], list[float]]:
    return sums.wall_us, sums.idle_us, sums.cpu_us


def steady_quarters(
    recording: Recording, pace: Pace, critical: Collection[int]
) -> tuple[Quarter, ...]:
    """Return four of them, of as many windows each; none where a quarter has no steps, or nothing counted them."""
    steady = pace.steady
    if steady is None or steady.last - steady.first + 1 < QUARTERS:
        return ()
    windows = steady.last - steady.first + 1
    steps = [0.0] * QUARTERS
    for counted in pace.counts.per_window.values():
        for window in range(steady.first, min(steady.last + 1, len(counted))):
            steps[(window - steady.first) * QUARTERS // windows] += counted[window]
    if not all(steps):
        return ()
    costs: list[dict[int, int]] = [defaultdict(int) for _ in range(QUARTERS)]
    samples = recording.samples
    for window, thread, node, wall_us in zip(
        samples.window, samples.thread, samples.node, samples.wall_us, strict=True
    ):
        if thread in critical and steady.first <= window <= steady.last:
            costs[(window - steady.first) * QUARTERS // windows][node] += wall_us
    return tuple(Quarter(made, dict(spent)) for made, spent in zip(steps, costs, strict=True))


def timeline_of(recording: Recording, times: Times, places: bytearray) -> Timeline:
    """A window's length goes to those that work in it, a process that steps already included; waits
    get what is left. A process alone thus keeps its time as it is.
    """
    count = len(recording.windows)
    active, idle = [0] * count, [0] * count
    for thread in recording.threads:
        if not thread.is_main:
            continue
        for window in range(count):
            cell = times.at(thread.id, window)
            works = times.busy_us[cell] + times.waiting_import_us[cell]
            active[window] += works
            if places[cell] == TimeTree.START_UP:
                idle[window] += times.idle_us[cell] - times.waiting_import_us[cell]
    scales = [
        _share_out(window.length_us, active[window.id], idle[window.id])
        for window in recording.windows
    ]
    return Timeline([scale for scale, _ in scales], [scale for _, scale in scales])


def _share_out(length: int, active: int, idle: int) -> tuple[float, float]:
    """Scales of active and of idle time so that together they do not exceed ``length``."""
    if active >= length:
        return (length / active if active else 1.0), 0.0
    left = length - active
    return 1.0, (min(1.0, left / idle) if idle else 1.0)
