"""The contract of a detector."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from rlprof.analysis.device.view import TraceView
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Finding
from rlprof.model.profile import Profile


class Need(Enum):
    """Data of a recording without which a detector is skipped; the report says why."""

    SAMPLES = "samples"
    SOURCES = "source text of hot files"
    STEPS = "counted steps"


@dataclass(frozen=True, slots=True)
class InSamples:
    """Evidence in the stacks, clocks and counters of a run."""

    detect: Callable[[Profile], Iterable[Finding]]
    """Pure: the same profile gives the same findings. Called only when all needs are met."""
    needs: frozenset[Need] = frozenset({Need.SAMPLES})
    is_fallback: bool = False
    """Whether it only names what nothing explains: it runs last, on the time that the others left."""


@dataclass(frozen=True, slots=True)
class InTrace:
    """Evidence in a trace of torch's profiler: one that was handed over, or a window of a run."""

    detect: Callable[[TraceView], Iterable[DeviceFinding]]
    """Pure: the same trace gives the same findings."""


@dataclass(frozen=True, slots=True)
class Detector:
    """One cause of lost time, by whatever evidence."""

    id: str
    """Lower-case words joined by hyphens; ``docs/detectors/<id>.md`` is its page."""
    name: str
    """What it finds, in a few words, for lists."""
    in_samples: InSamples | None = None
    in_trace: InTrace | None = None
