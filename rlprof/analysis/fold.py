"""Sums over the samples: time per thread and window, and self time per node of each tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from rlprof.analysis.origin import is_import_machinery
from rlprof.model.profile import Cost
from rlprof.model.recording import NO_PARENT, Node, Recording


class Place(IntEnum):
    """Which tree the time of one thread in one window belongs to, besides the whole."""

    ELSEWHERE = 0
    """None."""
    BESIDE = 1
    """None, but imports of a main thread there are start-up."""
    START_UP = 2
    CRITICAL = 3
    HELPING = 4
    """Work of other processes while critical threads run."""


class Times:
    """Time per (thread, window), as flat lists: see ``at``."""

    __slots__ = ("busy_us", "cpu_us", "idle_us", "import_us", "waiting_import_us", "windows")

    def __init__(self, threads: int, windows: int) -> None:
        cells = threads * windows
        self.windows = windows
        self.busy_us = [0] * cells
        self.idle_us = [0] * cells
        self.cpu_us = [0] * cells
        self.import_us = [0] * cells
        """Wall time under an import."""
        self.waiting_import_us = [0] * cells
        """The part of it that is idle: reading from disk."""

    def at(self, thread: int, window: int) -> int:
        """The index of a cell in every list."""
        return thread * self.windows + window

    def span(self, thread: int, first: int, last: int) -> slice:
        """The cells of a thread from window ``first`` to ``last``, both included."""
        start = thread * self.windows
        return slice(start + first, start + last + 1)


def importing_nodes(nodes: Sequence[Node]) -> bytearray:
    """1 for each node at or under an import that is under way."""
    importing = bytearray(len(nodes))
    machinery = {frame: is_import_machinery(frame) for frame in {node.frame for node in nodes}}
    for number, parent, frame in nodes:
        importing[number] = machinery[frame] or (parent != NO_PARENT and importing[parent])
    return importing


def sum_times(recording: Recording, importing: bytearray) -> Times:
    count = len(recording.windows)
    times = Times(len(recording.threads), count)
    busy_us, idle_us, cpu_us = times.busy_us, times.idle_us, times.cpu_us
    for window, thread, node, wall, idle, cpu in recording.samples.rows():
        cell = thread * count + window
        busy_us[cell] += wall - idle
        idle_us[cell] += idle
        cpu_us[cell] += cpu
        if importing[node]:
            times.import_us[cell] += wall
            times.waiting_import_us[cell] += idle
    return times


class NodeSums:
    """Self time per node, as columns as long as the call tree."""

    __slots__ = ("cpu_us", "idle_us", "wall_us")

    def __init__(self, nodes: int) -> None:
        self.wall_us = [0.0] * nodes
        self.idle_us = [0.0] * nodes
        self.cpu_us = [0.0] * nodes

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
    """How much of the run's own time a µs of start-up stands for, in each window."""

    active: Sequence[float]
    """For work and for reading imports."""
    idle: Sequence[float]
    """For waits, which count only where nobody works."""


@dataclass(frozen=True, slots=True)
class Folded:
    whole: NodeSums
    start_up: NodeSums
    """On the run's own timeline."""
    critical: NodeSums
    helping: NodeSums
    seen_by: list[int]
    """For each node a bit mask of ``marks`` of the threads it has time in."""


def fold(
    recording: Recording,
    importing: bytearray,
    places: bytearray,
    timeline: Timeline,
    marks: Sequence[int],
) -> Folded:
    """All trees' self times in one pass; ``places`` holds a ``Place`` per cell of ``Times``."""
    nodes, count = len(recording.nodes), len(recording.windows)
    folded = Folded(NodeSums(nodes), NodeSums(nodes), NodeSums(nodes), NodeSums(nodes), [0] * nodes)
    whole_wall, whole_idle, whole_cpu = _columns(folded.whole)
    start_wall, start_idle, start_cpu = _columns(folded.start_up)
    steady: dict[int, tuple[list[float], list[float], list[float]]] = {
        Place.CRITICAL: _columns(folded.critical),
        Place.HELPING: _columns(folded.helping),
    }
    active, waiting, seen_by = timeline.active, timeline.idle, folded.seen_by
    for window, thread, node, wall, idle, cpu in recording.samples.rows():
        whole_wall[node] += wall
        whole_idle[node] += idle
        whole_cpu[node] += cpu
        seen_by[node] |= marks[thread]
        place = places[thread * count + window]
        if place == Place.ELSEWHERE:
            continue
        if importing[node] or place == Place.START_UP:
            busy_scale = active[window]
            idle_part = idle * (busy_scale if importing[node] else waiting[window])
            start_wall[node] += (wall - idle) * busy_scale + idle_part
            start_idle[node] += idle_part
            start_cpu[node] += cpu * busy_scale
        elif place != Place.BESIDE:
            steady_wall, steady_idle, steady_cpu = steady[place]
            steady_wall[node] += wall
            steady_idle[node] += idle
            steady_cpu[node] += cpu
    return folded


def _columns(sums: NodeSums) -> tuple[list[float], list[float], list[float]]:
    return sums.wall_us, sums.idle_us, sums.cpu_us
