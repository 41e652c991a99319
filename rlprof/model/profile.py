"""A run, folded: what detectors look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from rlprof.model.activity import (
    NO_LOAD,
    NOT_BOUND,
    Activity,
    Bound,
    Component,
    HostLoad,
    Wait,
    WaitKind,
)
from rlprof.model.calltree import CallTree
from rlprof.model.crash import Hang
from rlprof.model.memory import MemoryView
from rlprof.model.recording import (
    Note,
    Process,
    RunInfo,
    SeenValue,
    SyncSite,
    Thread,
    Window,
)
from rlprof.model.threads import ThreadUse


class PhaseKind(Enum):
    """The part of a run in which time was spent."""

    START_UP = "start-up"
    """Imports, process creation and set-up, before a process does its first step."""
    WARM_UP = "warm-up"
    STEADY = "steady"
    HANG = "hang"
    """Nobody works, and somebody waits for who has died, or all for each other."""
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


BY_FACTORS: Final = 2.0
"""Times that a rate changes within the steady phase from which on no rate is promised: which of the two would a
fix be compared with?"""


_HARDLY_ANY: Final = 2
"""Printed rates: one of the last line, and one of a start or of an evaluation."""


class Drift(NamedTuple):
    """Median rates of the first and of the last third of the steady phase."""

    first: float
    last: float

    @property
    def change(self) -> float:
        """Part by which the rate rose, below 0 where it fell."""
        return self.last / self.first - 1 if self.first > 0 else 0.0

    @property
    def is_by_factors(self) -> bool:
        return max(self) >= BY_FACTORS * min(self) > 0


@dataclass(frozen=True, slots=True)
class Throughput:
    """The rate at which the run trained."""

    unit: str
    """``steps``; ``updates`` where optimizer steps stand in for them; ``iterations`` where only progress bars tell anything;
    ``none`` when nothing was counted."""
    source: str
    """``rlprof.step``, ``gymnasium vector env``, ``output pattern``, ... or ``none``."""
    steady_sps: Interval | None
    """``unit`` per second: median of the steady windows; ``None`` when there are too few to tell."""
    total_steps: float = 0
    series: tuple[tuple[int, int, float], ...] = ()
    """(start_us, end_us, steps per second) of each window."""
    updates_per_s: Interval | None = None
    """Optimizer steps per second of the steady phase, where they were counted."""
    batches_per_s: Interval | None = None
    """Batches of data loaders per second, likewise."""
    drift: Drift | None = None
    """None where the steady phase is too short to tell."""

    @property
    def drifts_by_factors(self) -> bool:
        return self.drift is not None and self.drift.is_by_factors

    @property
    def rate_to_price(self) -> float | None:
        """The rate that prices begin from; None where it is not known, or drifts by factors."""
        known = self.steady_sps is not None and not self.drifts_by_factors
        return self.steady_sps.median if known and self.steady_sps is not None else None

    @property
    def was_hardly_printed(self) -> bool:
        """True if all that tells the rate is one or two that the program printed: what is printed at the end alone stays so,
        however long it trains.
        """
        return not self.total_steps and 0 < len(self.series) <= _HARDLY_ANY

    @property
    def steps_per_s(self) -> Interval | None:
        """The steady rate where it is one of steps, and not of what stands in for them."""
        return self.steady_sps if self.unit == "steps" else None


@dataclass(frozen=True, slots=True)
class Critical:
    """Threads and time that bound the steady throughput: the denominator of every steady price."""

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
    in_step_us: int = 0
    """Part of ``wall_us`` that may go in proportion to the rest: of compute threads that wait for Python
    threads, and for cores that other programs have."""


@dataclass(frozen=True, slots=True)
class GpuUse:
    """Use of one GPU, by the means of its gauges over the steady phase. None: it was not told.

    All but ``process_bytes`` is of the whole GPU, whoever used it.
    """

    index: int
    """As the driver counts, which is not always as the program counts."""
    name: str
    utilisation: float | None = None
    """Part of the time in which some kernel ran, however small."""
    memory_bytes: float | None = None
    memory_total_bytes: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    clock_share: float | None = None
    """Share of the highest clock of its multiprocessors. It falls by itself while there is little to do."""
    temperature_c: float | None = None
    throttled_by_heat: float | None = None
    """Part of the time in which its clock was lowered because it was too hot."""
    throttled_by_power: float | None = None
    """As above, to stay within the power limit."""
    process_bytes: tuple[tuple[int, float], ...] = ()
    """(process, memory that it held) for those of the run, the most first; empty where the driver
    does not tell, as inside most containers."""


class Quarter(NamedTuple):
    """A quarter of the steady phase."""

    steps: float
    """Or updates, where they stand in for steps."""
    wall_us: Mapping[int, int]
    """Self time by node, summed over the critical threads."""


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
    other processes, the work of those stands in for the wait (``profile/critical.py``)."""
    start_up: CallTree
    """Time of every process's main thread in its start-up, and of imports at any time, on the
    run's own timeline: what processes do side by side shares the time and does not add up."""
    whole: CallTree
    """All time of all threads."""
    critical: Critical
    start_up_us: int
    """Wall time of the run before its first step (or before the end of the imports)."""
    sources: Mapping[str, str] = field(default_factory=dict)
    values: tuple[SeenValue, ...] = ()
    """Values that names stood for at the user's hot lines."""
    sync_sites: tuple[SyncSite, ...] = ()
    """Places that read tensors on the host, or copy them to a GPU, over the whole run."""
    notes: tuple[Note, ...] = ()
    process_roles: Mapping[int, str] = field(default_factory=dict)
    """Role of each process, by its id."""
    process_phases: Mapping[int, tuple[Phase, ...]] = field(default_factory=dict)
    """Phases of each process, by its id: its own start-up, then those of the run that it lives in."""
    node_roles: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """Roles of the processes in which a node has time."""
    activities: tuple[Activity, ...] = ()
    """Activity of each thread in the steady phase, by thread id; threads without time left out."""
    waits: tuple[Wait, ...] = ()
    """The wait graph, the longest first."""
    wait_kinds: Mapping[int, WaitKind] = field(default_factory=dict)
    """Kind of the wait by node, for nodes whose idle time (``POLL``: all time) is a wait."""
    parts: Sequence[str] = ()
    """The part of training of each node's busy time, by its number."""
    load: HostLoad = NO_LOAD
    bound: Bound = NOT_BOUND
    components: tuple[Component, ...] = ()
    """Parts of training, the dearest first; empty without a steady phase."""
    steady_us: int = 0
    """Length of the steady phase on the run's own timeline."""
    steady_steps: float = 0.0
    """Steps made in it; 0 when none were counted."""
    quarters: tuple[Quarter, ...] = ()
    """The steady phase in four parts of the same length; empty where a part has no steps."""
    counts: Mapping[str, float] = field(default_factory=dict)
    """Counts of the agent in the steady phase, by name (``updates``, ``ipc_messages``, ...)."""
    process_counts: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """The same by process id."""
    switches: Mapping[int, float] = field(default_factory=dict)
    """How often the main thread of each process gave its CPU away in the steady phase, to wait, by process id."""
    memory: MemoryView | None = None
    """None where the recording has no gauges of memory."""
    thread_use: ThreadUse | None = None
    """None without a steady phase or gauges."""
    gpus: tuple[GpuUse, ...] = ()
    """GPUs in the steady phase; empty where none was measured."""
    hang: Hang | None = None
    started_package: str = ""
    """The installed package that the run started, if it did: its code is the user's then."""
