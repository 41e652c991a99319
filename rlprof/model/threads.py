"""Threads of processes that run no Python, and those of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
class ThreadUse:
    """Threads of a run in the steady phase, on average."""

    native: Mapping[int, float]
    """Those that run no Python, by process: of BLAS, OpenMP and torch's pools, above all."""
    host_run_queue: float | None = None
    """Threads of the machine that ran or waited for a processor."""
