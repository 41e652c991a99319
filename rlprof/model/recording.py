"""Tell what one run file holds, read back: the input of every analysis.

Ids are dense: ``recording.nodes[i].id == i``, and so for processes, threads,
frames and windows, so that columns of ids index straight into the tuples.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    # A prediction is a price, and prices are of findings in a profile, which is made from what is here.
    from rlprof.model.experiment import Experiment

NO_PARENT: Final = -1

GC_FUNCTION: Final = ":GC:"
"""The pseudo-frame of a running garbage collection, always a leaf."""

INVALID_FUNCTION: Final = ":INVALID:"
"""The pseudo-frame of a stack that could not be read whole."""

NO_STACK_FUNCTION: Final = ":NO STACK:"
"""The pseudo-frame of time for which no stack was seen."""

POOLED: Final = frozenset({"fork", "spawn", "forkserver"})
"""Start methods by which ``multiprocessing`` starts the processes that do its work."""

UNLOCATED: Final = frozenset({INVALID_FUNCTION, NO_STACK_FUNCTION})
"""Pseudo-frames of time that belongs to some line, nobody knows which."""


class Frame(NamedTuple):
    """A line of a function. Pseudo-frames have an empty ``file`` and line 0."""

    file: str
    function: str
    line: int


GC_FRAME: Final = Frame("", GC_FUNCTION, 0)
TORN_FRAME: Final = Frame("", INVALID_FUNCTION, 0)
NO_STACK_FRAME: Final = Frame("", NO_STACK_FUNCTION, 0)


class Node(NamedTuple):
    """A node of the calling-context tree: a frame, called from its parent's line."""

    id: int
    parent: int
    frame: Frame


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The command and the machine of one run."""

    id: str
    command: tuple[str, ...]
    script: str
    cwd: str
    started_unix_s: float
    wall_us: int
    exit_code: int | None
    """The target's own, 128+n for signal n; ``None`` when rlprof did not live to see it."""
    complete: bool
    """True if recording ended in order; a killed rlprof leaves ``False``."""
    label: str | None = None
    git: str | None = None
    host: Mapping[str, str] = field(default_factory=dict)
    """Facts such as ``cpu_model``, ``cores``, ``usable_cores``, ``memory_bytes``, ``kernel``."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment of the target, the variables in ``THREAD_SETTINGS`` alone; older files hold more."""
    settings: Mapping[str, str] = field(default_factory=dict)
    rlprof_version: str = ""
    told_to_end_us: int | None = None
    """When rlprof or its user asked the target to end, by a signal; ``None`` where nobody did, and in older files."""
    is_live: bool = False
    """True if a recorder was at work on the file when it was read; in no file."""

    @property
    def started(self) -> datetime:
        return datetime.fromtimestamp(self.started_unix_s, tz=timezone.utc)


@dataclass(frozen=True, slots=True)
class Process:
    id: int
    pid: int
    ppid: int
    argv: tuple[str, ...]
    executable: str
    python: str
    """``3.11.7``; empty when not a Python process or not known."""
    start_method: str
    """``root``, ``fork``, ``spawn``, ``forkserver``, ``subprocess``, ``exec`` or ``unknown``."""
    started_us: int
    ended_us: int | None
    exit_code: int | None
    fate: str
    """``sampled``, ``probe-only``, ``missed`` or ``left-out``."""
    note: str = ""
    """Why it was missed or left out, or what else is odd about it."""
    requested_interval_us: int = 0
    clock_samples: int = 0
    """Ticks of the clock (austin), over all threads."""
    clock_invalid_us: int = 0
    """Busy µs of the clock whose stack was torn."""
    clock_covered_us: int = 0
    """Wall µs of the main thread that the clock covered."""
    probe_samples: int = 0
    """Stacks taken by the probe (the eye)."""
    probe_lost: int = 0


@dataclass(frozen=True, slots=True)
class Thread:
    id: int
    process: int
    tid: int
    name: str
    is_main: bool


@dataclass(frozen=True, slots=True)
class Window:
    """A slice of the run, in µs since its start. Windows tile the run without gaps."""

    id: int
    start_us: int
    end_us: int

    @property
    def length_us(self) -> int:
        return self.end_us - self.start_us


class Samples:
    """The samples as parallel columns: time per (window, thread, node), self time only.

    ``wall`` = ``busy`` + ``idle`` (µs); ``cpu`` (µs) is the part of busy that was on a CPU.
    """

    __slots__ = ("cpu_us", "idle_us", "node", "thread", "wall_us", "window")

    def __init__(self) -> None:
        self.window = array("l")
        self.thread = array("l")
        self.node = array("l")
        self.wall_us = array("q")
        self.idle_us = array("q")
        self.cpu_us = array("q")

    def add(
        self, window: int, thread: int, node: int, wall_us: int, idle_us: int, cpu_us: int
    ) -> None:
        self.window.append(window)
        self.thread.append(thread)
        self.node.append(node)
        self.wall_us.append(wall_us)
        self.idle_us.append(idle_us)
        self.cpu_us.append(cpu_us)

    def __len__(self) -> int:
        return len(self.window)

    def us_by_node(self, nodes: int) -> list[int]:
        """Return the wall time of each of that many nodes, asleep or not (µs)."""
        times = [0] * nodes
        for node, wall in zip(self.node, self.wall_us, strict=True):
            times[node] += wall
        return times

    def rows(self) -> Iterator[tuple[int, int, int, int, int, int]]:
        """Yield (window, thread, node, wall_us, idle_us, cpu_us)."""
        return zip(
            self.window,
            self.thread,
            self.node,
            self.wall_us,
            self.idle_us,
            self.cpu_us,
            strict=True,
        )

    def summed(
        self, key: Callable[[int, int, int], tuple[int, int, int]]
    ) -> dict[tuple[int, int, int], list[int]]:
        """[wall, idle, cpu] µs by what ``key`` makes of window, thread and node."""
        sums: dict[tuple[int, int, int], list[int]] = {}
        for window, thread, node, wall, idle, cpu in self.rows():
            at = key(window, thread, node)
            known = sums.get(at)
            if known is None:
                sums[at] = [wall, idle, cpu]
            else:
                known[0] += wall
                known[1] += idle
                known[2] += cpu
        return sums


class ThreadClock(NamedTuple):
    """Times of one thread in one window, as the clock and the scheduler say (µs)."""

    window: int
    thread: int
    wall_us: int
    idle_us: int
    invalid_us: int
    """Busy time whose stack was torn."""
    on_cpu_us: int
    """From ``/proc/PID/task/TID/schedstat``, as is ``run_queue_us``."""
    run_queue_us: int
    """Runnable, waiting for a CPU."""


class Counter(NamedTuple):
    """Events of ``name`` (for example ``steps``) by ``process`` in ``window``."""

    window: int
    process: int
    name: str
    value: float


class Gauge(NamedTuple):
    """A level or an amount of ``process`` in ``window``; ``model/gauges.py`` has the names."""

    window: int
    process: int
    name: str
    value: float


class MemoryGrowth(NamedTuple):
    """The rise and fall of a process's resident memory over the run, while a node was seen.

    The clock looks at the process's memory at each tick, so the change since the tick before is
    booked on what ran at the end of it, not on what asked for the memory. Exact is only the sum
    over a process.
    """

    thread: int
    node: int
    grown_bytes: int
    released_bytes: int


TO_THE_GPU: Final = " (to the GPU"
"""In the name of a method that copied in that direction."""


class SyncSite(NamedTuple):
    """A place of ``process`` that reads tensors on the host, over the whole run."""

    process: int
    file: str
    """Its end alone when it is long."""
    function: str
    line: int
    method: str
    """Method of ``torch.Tensor``, with what it copied where that is to the device: ``to (to the GPU, pageable)``."""
    device: str
    """``gpu``, or ``cpu`` where nothing was waited for."""
    calls: int
    wait_us: int
    """Wall time in the calls; 0 on the CPU, where it is not measured."""
    bytes: int
    """Read or copied, of tensors on a GPU."""


class SeenValue(NamedTuple):
    """Value that a name stood for at a line of the user's, as looks during the run found it: described, never kept."""

    process: int
    """The one that was looked at first."""
    file: str
    function: str
    line: int
    operand: str
    """As the line has it: ``self.net.body``, ``batch['obs']``."""
    first_us: int
    last_us: int
    """When it was seen so first and last."""
    looks: int
    """That found it so, one after the other."""
    fields: Mapping[str, str]
    """``docs/run-file.md`` has their names."""


@dataclass(frozen=True, slots=True)
class TorchWindow:
    """A stretch of one process under torch's profiler, which slows it: not the program's own pace."""

    process: int
    number: int
    """Counts from 0 in each process."""
    kind: str
    """``plain``, ``stacks`` (with Python stacks), ``rollout`` (from the end of one burst of updates into
    what follows) or ``timed`` (of a program that makes no updates)."""
    fate: str
    """``written``, ``given-up`` (the program started a profiler of its own), ``failed`` or ``lost``
    (its process ended first)."""
    begun_us: int
    ended_us: int
    """After its trace was written, by which time the program goes on."""
    updates: int
    """Optimizer steps in it."""
    trace: bytes = b""
    """Trace that torch's profiler exported, gzipped; empty without one."""


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on the quality of the recording; every renderer shows it."""

    level: str
    """``info``, ``warning`` or ``error``."""
    slug: str
    text: str


@dataclass(frozen=True, slots=True)
class Recording:
    """One run, as recorded."""

    run: RunInfo
    processes: tuple[Process, ...] = ()
    threads: tuple[Thread, ...] = ()
    nodes: tuple[Node, ...] = ()
    """The calling-context tree over all processes; a parent's id is smaller than its children's."""
    windows: tuple[Window, ...] = ()
    samples: Samples = field(default_factory=Samples)
    clocks: tuple[ThreadClock, ...] = ()
    counters: tuple[Counter, ...] = ()
    gauges: tuple[Gauge, ...] = ()
    memory: tuple[MemoryGrowth, ...] = ()
    """By thread and node, over the whole run; empty in files of version 1."""
    torch_windows: tuple[TorchWindow, ...] = ()
    """By process and time; empty in files before version 3."""
    sync_sites: tuple[SyncSite, ...] = ()
    """Empty in files before version 3."""
    values: tuple[SeenValue, ...] = ()
    """Empty in files before version 4, and where no values were looked at."""
    experiments: tuple[Experiment, ...] = ()
    """In the order in which they ended; empty in files before version 5, and of runs in which nothing was tried."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Text of the files with hot lines, by the path that frames name."""
    overhead: Mapping[str, float] = field(default_factory=dict)
    """CPU of rlprof's own parts, in µs: ``samplers_cpu_us``, ``recorder_cpu_us``, ``probe_cpu_us``,
    ``torch_windows_cpu_us``, ``values_cpu_us``."""
    notes: tuple[Note, ...] = ()
