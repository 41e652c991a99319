"""Everything a renderer may show of one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rlprof.model.activity import NOT_BOUND, Bound, Component
from rlprof.model.crash import Crash, Hang
from rlprof.model.detail import Detail
from rlprof.model.experiment import Experiment
from rlprof.model.finding import PricedFinding
from rlprof.model.flame import Flame
from rlprof.model.memory import MemoryView
from rlprof.model.profile import GpuUse, Phase, PhaseKind, Throughput
from rlprof.model.recording import Note, RunInfo


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One process as the report shows it. Times in seconds, rates in Hz."""

    pid: int
    ppid: int
    role: str
    """As in ``profile/roles.py``: ``main``, ``learner``, ``environment worker``, ``worker``, ..."""
    command: str
    python: str
    sampled: bool
    wall_s: float
    cpu_s: float
    requested_hz: float
    achieved_hz: float
    """0 when the process was seen for too short a time to tell."""
    note: str
    phases: tuple[Phase, ...] = ()
    """Its own start-up, then those of the run that it lives in."""
    started_s: float = 0.0
    """Since the start of the run."""
    at_pace_us: tuple[int, int] | None = None
    """Its life on the clock of the phases, where that is another one: of a run from which windows of torch's profiler are left out."""
    is_left_out: bool = False
    """Not sampled on purpose, as ``note`` says: nothing of the training runs in it."""

    @property
    def start_up_s(self) -> float:
        return sum(
            (phase.end_us - phase.start_us) / 1e6
            for phase in self.phases
            if phase.kind is PhaseKind.START_UP
        )


@dataclass(frozen=True, slots=True)
class Overhead:
    """Cost of rlprof itself (CPU seconds), and that as a share of the cores for the run."""

    samplers_cpu_s: float
    recorder_cpu_s: float
    probe_cpu_s: float
    torch_windows_cpu_s: float
    share_of_cores: float


@dataclass(frozen=True, slots=True)
class WaitRow:
    """An edge of the wait graph, as the report shows it."""

    pid: int
    role: str
    thread: str
    """Name of the thread, or the function that it runs where nobody named it; empty for a main thread."""
    kind: str
    """``pipe``, ``queue``, ``lock``, ... (``WaitKind``)."""
    share: float
    """Share of the steady phase."""
    on: tuple[tuple[int, str, float], ...]
    """(pid, role, part of the wait in which it worked), the heaviest first."""
    tid: int = 0
    """The kernel's number of the thread."""


@dataclass(frozen=True, slots=True)
class Resources:
    """CPU, in cores, and GPUs in the steady phase."""

    cores: float
    """Cores that the run may use."""
    used: float
    queued: float
    """Runnable Python threads that waited for a CPU, on average."""
    native: float
    """The part of ``used`` by threads that run no Python: BLAS, OpenMP and torch pools."""
    saturated: bool
    by_role: tuple[tuple[str, int, float], ...]
    """(role, processes, cores of all of them), the heaviest first."""
    gpus: tuple[GpuUse, ...] = ()


class TorchOp(NamedTuple):
    """An operation of the host or a kernel of a GPU, in one window of torch's profiler."""

    name: str
    calls: int
    time_s: float


@dataclass(frozen=True, slots=True)
class TorchWindowRow:
    """A short stretch of one process under torch's profiler. Times in seconds."""

    pid: int
    role: str
    kind: str
    """``plain``, ``stacks``, ``rollout`` or ``timed``, as ``model/recording.py`` explains."""
    fate: str
    """``written``, ``given-up``, ``failed``, ``lost`` or ``unreadable``."""
    begun_s: float
    cost_s: float
    """Until its trace was written."""
    is_left_out: bool
    """True if it is left out of every figure of the report; not where a run hardly lasted longer than its windows."""
    updates: int
    wall_s: float
    """Wall time of the trace; all that follow are of it, too."""
    ops: int
    launches: int
    busy_share: float | None
    """Busy share of the busiest GPU; None without rows of one."""
    optimizer: str
    """Name and kind: ``Adam (for-loop)``; empty when none stepped."""
    compiling_s: float
    idle: tuple[tuple[str, float], ...] = ()
    """(cause, part of the trace) for which the busiest GPU had nothing to do, by the names of
    ``model/device.py``; empty without rows of one."""
    top_ops: tuple[TorchOp, ...] = ()
    """Operations that the program called itself, by the host's time in them, the heaviest first."""
    top_kernels: tuple[TorchOp, ...] = ()
    """The heaviest first."""


@dataclass(frozen=True, slots=True)
class Compute:
    """Floating-point operations of updates: products of matrices and convolutions."""

    flops_per_update: float
    flops_per_s: float
    """Rate of the steady phase, by all processes that have such windows."""
    precision: str
    """Precision of most of it: ``fp32``, ``bf16`` or ``fp16``; empty where that is not known."""
    device: str
    """Name of the GPU; empty without one."""
    utilisation: float | None
    """Share of the GPU's highest rate in that precision (MFU), 0 to 1; None where that is not known."""


@dataclass(frozen=True, slots=True)
class SyncSiteRow:
    """A line that reads tensors on the host, or copies them to a GPU; over the whole run."""

    pid: int
    role: str
    file: str
    line: int
    function: str
    method: str
    device: str
    """``gpu``; ``cpu`` for what would wait if the tensor were on one."""
    calls: int
    per_step: float | None
    wait_s: float
    """In the calls. Waiting is not what could be saved."""
    bytes: int


@dataclass(frozen=True, slots=True)
class Report:
    """A priced run: the input of every renderer."""

    run: RunInfo
    throughput: Throughput
    phases: tuple[Phase, ...]
    processes: tuple[ProcessRow, ...]
    findings: tuple[PricedFinding, ...]
    """Findings worth fixing, the dearest first."""
    also_seen: tuple[PricedFinding, ...]
    """Seen, and priced at (nearly) nothing."""
    overhead: Overhead
    notes: tuple[Note, ...]
    flame: Flame
    counters_per_step: tuple[tuple[str, float], ...] = ()
    bound: Bound = NOT_BOUND
    components: tuple[Component, ...] = ()
    waits: tuple[WaitRow, ...] = ()
    resources: Resources | None = None
    """None without a steady phase."""
    memory: MemoryView | None = None
    torch_windows: tuple[TorchWindowRow, ...] = ()
    compute: Compute | None = None
    """None without a window that has shapes."""
    sync_sites: tuple[SyncSiteRow, ...] = ()
    """The longest waits first."""
    crash: Crash | None = None
    """Stands in the first line."""
    hang: Hang | None = None
    """Stands beside it."""
    experiments: tuple[Experiment, ...] = ()
    """In the order in which they ended, with what samples had told."""
    left_out_us: int = 0
    """Length of what windows of torch's profiler slowed, on none of the clocks but those of the run and of its processes' lives."""
    run_file: str = ""
    """Path of the run file, for the hints that name it; empty when not known."""
    detail: Detail | None = None
    """None unless asked for: it takes time to make, and words do not need it."""
