"""Sources of step counts, ranked: which of them tells the steps per second of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
"""Counters of steps, each with its source in words. The first that counted at all is the run's:
those further down count the same steps again, inside its own or in its workers."""

OWN_ENVS: Final = frozenset(
    [STEPS_RECOGNISED, *(source.counter for source in _OF_LIBRARIES if source.is_own_env)]
)
"""Counters of environments that a process steps itself, not by workers."""

COUNTED_LIBRARIES: Final = tuple(library.name for library in LIBRARIES if library.step_sources)
"""Libraries whose steps are counted by themselves, by name."""

_RANK: Final = {name: rank for rank, name in enumerate(STEP_SOURCES)}


def best_source(names: Iterable[str | None]) -> str | None:
    """The counter among ``names`` that tells the run's steps; None when none does."""
    known = [name for name in names if name is not None and name in _RANK]
    return min(known, key=_RANK.__getitem__, default=None)


def is_of_steps(name: str) -> bool:
    """Tell whether the counter ``name`` tells what happens in steps, and not the steps or phases themselves."""
    return (
        name not in (*STEP_SOURCES, EVALUATION_STEPS, ITERATIONS) and phase_of_counter(name) is None
    )
