"""The contract of a detector."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from rlprof.model.finding import Finding
from rlprof.model.profile import Profile


class Need(Enum):
    """Data without which a detector is skipped; the report says why."""

    SAMPLES = "samples"
    SOURCES = "source text of hot files"
    STEPS = "counted steps"


@dataclass(frozen=True, slots=True)
class Detector:
    id: str
    """Lower-case words joined by hyphens; ``docs/detectors/<id>.md`` is its page."""
    name: str
    """What it finds, in a few words, for lists."""
    needs: frozenset[Need]
    detect: Callable[[Profile], Iterable[Finding]]
    """Pure: the same profile gives the same findings. Called only when all needs are met."""
    fallback: bool = False
    """Whether it only names what nothing explains: it runs last, on the time that the others left."""
