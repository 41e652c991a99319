"""A run, folded: what detectors look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from rlprof.model.recording import NO_PARENT, Frame, Node, Note, Process, RunInfo, Thread, Window


class PhaseKind(Enum):
    """Where in a run time was spent."""

    START_UP = "start-up"
    """Imports, process creation and set-up, before a process does its first step."""
    WARM_UP = "warm-up"
    STEADY = "steady"
    SHUTDOWN = "shutdown"


@dataclass(frozen=True, slots=True)
class Phase:
    kind: PhaseKind
    start_us: int
    end_us: int


class Interval(NamedTuple):
    """A value known to lie between ``low`` and ``high`` (95 %), best guess ``median``."""

    median: float
    low: float
    high: float


class Cost(NamedTuple):
    """Time in µs: ``wall`` = busy + ``idle``; ``cpu`` is the part of busy on a CPU."""

    wall_us: int = 0
    idle_us: int = 0
    cpu_us: int = 0

    @property
    def busy_us(self) -> int:
        return self.wall_us - self.idle_us

    def plus(self, other: Cost) -> Cost:
        return Cost(
            self.wall_us + other.wall_us, self.idle_us + other.idle_us, self.cpu_us + other.cpu_us
        )


class CallTree:
    """Self and total time of every node of the calling-context tree, for one selection of samples.

    ``nodes`` is shared by all trees of a profile; a parent's id is smaller than its children's.
    """

    def __init__(self, nodes: tuple[Node, ...], self_costs: Mapping[int, Cost]) -> None:
        self.nodes = nodes
        self._self = dict(self_costs)
        self._total = self._sum_up()
        self._children: dict[int, list[int]] | None = None

    def _sum_up(self) -> dict[int, Cost]:
        total = dict(self._self)
        pending = sorted(total)
        seen = set(pending)
        for node in pending:
            parent = self.nodes[node].parent
            while parent != NO_PARENT and parent not in seen:
                seen.add(parent)
                parent = self.nodes[parent].parent
        for node in sorted(seen, reverse=True):
            parent = self.nodes[node].parent
            if parent != NO_PARENT:
                total[parent] = total.get(parent, Cost()).plus(total[node])
        return total

    @property
    def total(self) -> Cost:
        """The cost of the whole selection."""
        return sum_costs(self._self.values())

    def self_cost(self, node: int) -> Cost:
        return self._self.get(node, Cost())

    def total_cost(self, node: int) -> Cost:
        """The node's own time and that of everything it called."""
        return self._total.get(node, Cost())

    def hot_nodes(self) -> Iterator[int]:
        """Yield every node with time in or below it, parents first."""
        return iter(sorted(self._total))

    def roots(self) -> list[int]:
        return self.children(NO_PARENT)

    def children(self, node: int) -> list[int]:
        """The children with time in or below them, in order of id."""
        if self._children is None:
            children: dict[int, list[int]] = {}
            for child in sorted(self._total):
                children.setdefault(self.nodes[child].parent, []).append(child)
            self._children = children
        return self._children.get(node, [])

    def subtree(self, node: int) -> Iterator[int]:
        """Yield ``node`` and everything below it that has time."""
        stack = [node]
        while stack:
            current = stack.pop()
            yield current
            stack.extend(self.children(current))

    def ancestors(self, node: int) -> Iterator[int]:
        """Yield the callers of ``node``, nearest first."""
        parent = self.nodes[node].parent
        while parent != NO_PARENT:
            yield parent
            parent = self.nodes[parent].parent

    def frame(self, node: int) -> Frame:
        return self.nodes[node].frame


def sum_costs(costs: Iterable[Cost]) -> Cost:
    wall = idle = cpu = 0
    for cost in costs:
        wall += cost.wall_us
        idle += cost.idle_us
        cpu += cost.cpu_us
    return Cost(wall, idle, cpu)


@dataclass(frozen=True, slots=True)
class Throughput:
    """How fast the run trained."""

    unit: str
    """``steps``, or ``none`` when nothing was counted."""
    source: str
    """``rlprof.step``, ``output pattern`` or ``none``."""
    steady_sps: Interval | None
    """Median of the steady windows; ``None`` when there are too few to tell."""
    total_steps: float = 0
    series: tuple[tuple[int, int, float], ...] = ()
    """(start_us, end_us, steps per second) of each window."""


@dataclass(frozen=True, slots=True)
class Critical:
    """What the steady throughput is bound by: the denominator of every steady price."""

    threads: frozenset[int]
    """Ids of the threads that make the steps (or, with no steps, do the work)."""
    wall_us: int
    """Wall time of those threads in the steady phase, summed (µs)."""
    sample_interval_us: int
    """Mean time between their samples (µs): the sampling error of a price comes from it."""
    torn_share: float = 0.0
    """Share of their busy time whose stacks came torn from the clock and from nowhere else."""
    clock_only_share: float = 0.0
    """Share of their busy time located by the clock's stacks alone, without a probe."""
    bound_by: str = "threads"
    """``threads``, or ``cpus`` when the host is saturated: then ``Profile.steady`` holds the CPU
    time of every thread, and ``wall_us`` its sum."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A run, folded by phase."""

    run: RunInfo
    processes: tuple[Process, ...]
    threads: tuple[Thread, ...]
    windows: tuple[Window, ...]
    phases: tuple[Phase, ...]
    throughput: Throughput
    steady: CallTree
    """Time of the critical threads in the steady phase, imports left out. Where they wait for
    other processes, the work of those stands in for the wait (``analysis/critical.py``)."""
    start_up: CallTree
    """Time of every process's main thread in its start-up, and of imports at any time, on the
    run's own timeline: what processes do side by side shares the time and does not add up."""
    whole: CallTree
    """All time of all threads."""
    critical: Critical
    start_up_us: int
    """Wall time of the run before its first step (or before the end of the imports)."""
    sources: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    process_roles: Mapping[int, str] = field(default_factory=dict)
    """Role of each process, by its id."""
    node_roles: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """Roles of the processes in which a node has time."""
    started_package: str = ""
    """The installed package that the run started, if it did: its code is the user's then."""
