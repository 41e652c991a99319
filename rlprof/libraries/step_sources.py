"""Sources of step counts, ranked: which of them tells the steps per second of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Final

from rlprof.libraries.known import LIBRARIES
from rlprof.model.counters import (
    EVALUATION_STEPS,
    ITERATIONS,
    OUTPUT_STEPS,
    STEPS,
    STEPS_CUSTOM,
    STEPS_RECOGNISED,
    phase_of_counter,
)
from rlprof.model.recording import Process, Recording

_OF_LIBRARIES: Final = sorted(
    (source for library in LIBRARIES for source in library.step_sources), key=attrgetter("rank")
)

STEP_SOURCES: Final[Mapping[str, str]] = {
    STEPS: "rlprof.step",
    STEPS_CUSTOM: "--steps-from",
    **{source.counter: source.words for source in _OF_LIBRARIES},
    OUTPUT_STEPS: "output pattern",
    STEPS_RECOGNISED: "calls that return observation, reward and end",
}
"""Counters of steps, each with its source in words. The first that counted at all is the run's, as a rule (``source_of``):
those further down count the same steps again, inside its own or in its workers."""

OWN_ENVS: Final = frozenset(
    [STEPS_RECOGNISED, *(source.counter for source in _OF_LIBRARIES if source.is_own_env)]
)
"""Counters of environments that a process steps itself, not by workers."""

OF_VECTORS: Final = frozenset(source.counter for source in _OF_LIBRARIES if not source.is_beside)
"""Counters of environments that step others."""
BESIDE: Final = tuple(source.counter for source in _OF_LIBRARIES if source.is_beside)
"""Counters of single environments, without those that vector environments step in the same process."""

MANY_BESIDE: Final = 2.0
"""Times the steps of vector environments that a program makes beside them, from which on those are its evaluations. A vector
environment that steps its own in threads of its own has as many beside it as it counts."""

COUNTED_LIBRARIES: Final = tuple(library.name for library in LIBRARIES if library.step_sources)
"""Libraries whose steps are counted by themselves, by name."""

_RANK: Final = {name: rank for rank, name in enumerate(STEP_SOURCES)}


def best_source(names: Iterable[str | None]) -> str | None:
    """The counter among ``names`` that tells the run's steps; None when none does."""
    known = [name for name in names if name is not None and name in _RANK]
    return min(known, key=_RANK.__getitem__, default=None)


def source_of(recording: Recording, names: Iterable[str]) -> str | None:
    """The counter among ``names`` that tells the steps of the training; None when none does."""
    known = frozenset(names)
    best = best_source(known)
    if best not in OF_VECTORS:
        return best
    counted = {
        counter.process
        for counter in recording.counters
        if counter.name == best and counter.value > 0
    }
    # Workers count again what is counted where they are driven.
    workers = {
        process.id
        for process in recording.processes
        if any(above in counted for above in _ancestors(process, recording.processes))
    }
    made = _total(recording, best, frozenset())
    for beside in BESIDE:
        if beside in known and _total(recording, beside, workers) > MANY_BESIDE * made:
            return beside
    return best


def _total(recording: Recording, name: str, without: Collection[int]) -> float:
    return sum(
        counter.value
        for counter in recording.counters
        if counter.name == name and counter.process not in without
    )


def _ancestors(process: Process, processes: Iterable[Process]) -> Iterator[int]:
    """Yield the processes above ``process``, by their numbers."""
    older = [other for other in processes if other.started_us <= process.started_us]
    below, seen = process, {process.id}
    while True:
        parents = [other for other in older if other.pid == below.ppid and other.id not in seen]
        if not parents:
            return
        # Of a number that was given anew the last.
        below = max(parents, key=attrgetter("started_us"))
        seen.add(below.id)
        yield below.id


def is_of_steps(name: str) -> bool:
    """Tell whether the counter ``name`` tells what happens in steps, and not the steps or phases themselves."""
    return (
        name not in (*STEP_SOURCES, EVALUATION_STEPS, ITERATIONS) and phase_of_counter(name) is None
    )
