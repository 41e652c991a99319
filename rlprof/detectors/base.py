"""The contract of a detector, and how detectors are called."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Finding
from rlprof.model.profile import Profile
from rlprof.model.recording import Note

SeenT = TypeVar("SeenT")
FoundT = TypeVar("FoundT", Finding, DeviceFinding)


class Need(Enum):
    """Data of a recording without which a detector is skipped; the report says why."""

    SAMPLES = "samples"
    SOURCES = "source text of hot files"
    STEPS = "counted steps"
    VALUES = "values at hot lines"


@dataclass(frozen=True, slots=True)
class InSamples:
    """Evidence in the stacks, clocks and counters of a run."""

    detect: Callable[[Profile], Iterable[Finding]]
    """Pure: the same profile gives the same findings. Called only when all needs are met."""
    needs: frozenset[Need] = frozenset({Need.SAMPLES})
    is_fallback: bool = False
    """True if it only names what nothing explains: it runs last, on the time that the others left."""


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
    """Cause that it finds, in a few words, for lists."""
    in_samples: InSamples | None = None
    in_trace: InTrace | None = None


def detect_all(
    detecting: Iterable[tuple[str, Callable[[SeenT], Iterable[FoundT]]]], seen: SeenT
) -> tuple[list[FoundT], dict[str, Note]]:
    """All findings in what was ``seen``, named by their detectors, and a note on each detector that failed, by its id.

    ``detecting`` are pairs of a detector's id and what it calls for this kind of evidence.
    """
    found: list[FoundT] = []
    failures = {}
    for id_, detect in detecting:
        try:
            found += [
                finding if finding.detector else replace(finding, detector=id_)
                for finding in detect(seen)
            ]
        # A detector may come from another package, and a bug in one must not cost the whole report.
        except Exception as error:
            failures[id_] = _failure(id_, error)
    return found, failures


def _failure(id_: str, error: Exception) -> Note:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return Note(
        "error",
        "detector-failed",
        f"The detector {id_} failed ({type(error).__name__}: {error}, at "
        f"{place.filename}:{place.lineno}): what it looks for is not in this report. "
        "Please report it to its authors.",
    )
