"""Threads of processes, those that run no Python included, against the cores they may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

THREAD_SETTINGS: Final = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "OMP_THREAD_LIMIT",
)
"""Environment variables that numerical libraries take their number of threads from; a run file holds no
others."""


@dataclass(frozen=True, slots=True)
class ProcessThreads:
    """The threads of one process in the steady phase. CPU and waits in µs over that phase."""

    process: int
    threads: float
    """All of them, on average."""
    python: float
    """Those that ran Python, on average: known to the sampler."""
    cpu_us: int
    run_queue_us: int
    """Python threads runnable without a CPU; of the others the kernel was not asked."""
    cores: float
    """Cores that it may use: of its own affinity, or the run's."""

    @property
    def native(self) -> float:
        """Threads that run no Python: BLAS, OpenMP and torch pools, above all."""
        return max(0.0, self.threads - self.python)


@dataclass(frozen=True, slots=True)
class ThreadUse:
    """Threads of a run against its cores, in the steady phase."""

    processes: tuple[ProcessThreads, ...]
    """Those that were there for some of it, in order of id."""
    wall_us: int
    """Length of the steady phase."""
    cores: float
    """Cores that the run may use: affinity and the control group's CPU quota count."""
    host_run_queue: float | None = None
    """Threads of the machine that ran or waited for a processor, on average."""
    throttled_us: int | None = None
    """Time in which the CPU quota kept the run from running; None where there is no quota."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that set the number of threads, as the target was started with."""
