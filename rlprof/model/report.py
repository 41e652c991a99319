"""Everything a renderer may show of one run."""

from __future__ import annotations

from dataclasses import dataclass

from rlprof.model.finding import PricedFinding
from rlprof.model.flame import Flame
from rlprof.model.profile import Phase, Throughput
from rlprof.model.recording import Note, RunInfo


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One process as the report shows it. Times in seconds, rates in Hz."""

    pid: int
    ppid: int
    role: str
    """``main``, ``worker``, ``resource tracker``, ``forkserver``, ``launcher`` or ``other``."""
    command: str
    python: str
    sampled: bool
    wall_s: float
    cpu_s: float
    requested_hz: float
    achieved_hz: float
    note: str


@dataclass(frozen=True, slots=True)
class Overhead:
    """What rlprof itself cost (CPU seconds), and that as a share of the cores for the run."""

    samplers_cpu_s: float
    recorder_cpu_s: float
    probe_cpu_s: float
    share_of_cores: float


@dataclass(frozen=True, slots=True)
class ImportCost:
    """An import in a start-up: its module file and inclusive wall time (µs)."""

    module: str
    wall_us: int


@dataclass(frozen=True, slots=True)
class Report:
    """A priced run: the input of every renderer."""

    run: RunInfo
    throughput: Throughput
    phases: tuple[Phase, ...]
    processes: tuple[ProcessRow, ...]
    findings: tuple[PricedFinding, ...]
    """What is worth fixing, the dearest first."""
    also_seen: tuple[PricedFinding, ...]
    """Seen, and priced at (nearly) nothing."""
    overhead: Overhead
    notes: tuple[Note, ...]
    flame: Flame
    counters_per_step: tuple[tuple[str, float], ...] = ()
    run_file: str = ""
    """Path of the run file, for the hints that name it; empty when not known."""
