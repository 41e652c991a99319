"""The loss and the CPU time that pairs of runs with and without rlprof come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from math import exp, inf, log
from statistics import median
from typing import Final, NamedTuple

from rlprof.gate.statistics import paired_shift
from rlprof.model.recording import Recording

CONFIDENCE: Final = 0.9
"""Confidence of the interval: the true loss lies below it in at most one of 20 measurements, and above it as rarely."""

LEAST_PAIRS: Final = 5
"""Pairs that such an interval takes: of four, one in sixteen point the same way by chance alone."""

_PART: Final = "_cpu_us"
"""Ending of the names of rlprof's parts in a run file."""


class Basis(Enum):
    """The measure of the speed of a run."""

    STEPS = "steps"
    """Steps per second of its steady phase."""
    WALL = "wall"
    """The time that the whole of it takes."""


class OwnCpu(NamedTuple):
    """CPU time of rlprof itself in one recorded run."""

    parts: Mapping[str, float]
    """In cores, by part: ``samplers``, ``recorder``, ``probe``, and what else a run file tells of."""
    processes: float
    """Python processes that lived at a time, in the mean; at least one."""
    wall_s: float
    """Length of the run."""

    @property
    def cores(self) -> float:
        return sum(self.parts.values())

    @property
    def per_process(self) -> float:
        return self.cores / self.processes


class Loss(NamedTuple):
    """Part of the speed that goes; negative where the runs with rlprof were the faster ones."""

    middle: float
    low: float | None
    """None where there are too few pairs for an interval."""
    high: float | None


@dataclass(frozen=True, slots=True)
class RunPair:
    """A run without rlprof and one with it, one right after the other."""

    bare: float
    """Steps per second, or seconds, as ``basis`` says."""
    recorded: float
    basis: Basis
    own: OwnCpu
    unit: str = "steps"
    """``updates`` where optimizer steps stand in; ``s`` where whole runs were timed."""
    source: str = ""
    """The library or option that counted them; empty where whole runs were timed."""

    @property
    def log_ratio(self) -> float:
        """Logarithm of the speed with rlprof over that without."""
        ratio = log(self.recorded / self.bare)
        return ratio if self.basis is Basis.STEPS else -ratio

    @property
    def loss(self) -> float:
        return 1 - exp(self.log_ratio)


@dataclass(frozen=True, slots=True)
class MeasuredOverhead:
    """All pairs of a measurement, of which there is at least one; their basis is the same."""

    script: str
    command: tuple[str, ...]
    """Without its secrets."""
    pairs: tuple[RunPair, ...]
    why_wall: str = ""
    """Why whole runs were timed, though nobody asked for that."""

    @property
    def basis(self) -> Basis:
        return self.pairs[0].basis

    @property
    def loss(self) -> Loss:
        """The middle of the pairs by Hodges and Lehmann, with the interval that Wilcoxon's signed ranks give."""
        shift = paired_shift([pair.log_ratio for pair in self.pairs], (1 - CONFIDENCE) / 2)
        low, high = (None if abs(end) == inf else 1 - exp(end) for end in (shift.high, shift.low))
        return Loss(1 - exp(shift.middle), low, high)

    @property
    def bare(self) -> float:
        return median(pair.bare for pair in self.pairs)

    @property
    def recorded(self) -> float:
        return median(pair.recorded for pair in self.pairs)

    @property
    def own(self) -> OwnCpu:
        """The median of the pairs, part by part."""
        return OwnCpu(
            {
                part: median(pair.own.parts[part] for pair in self.pairs)
                for part in self.pairs[0].own.parts
            },
            processes=median(pair.own.processes for pair in self.pairs),
            wall_s=median(pair.own.wall_s for pair in self.pairs),
        )


def own_cpu(recording: Recording) -> OwnCpu:
    """The cost that rlprof states in a run file."""
    wall_us = max(1, recording.run.wall_us)
    parts = {
        name.removesuffix(_PART): value / wall_us
        for name, value in recording.overhead.items()
        if name.endswith(_PART)
    }
    processes = max(1.0, sum(_lifetimes_us(recording)) / wall_us)
    return OwnCpu(parts, processes=processes, wall_s=wall_us / 1e6)


def _lifetimes_us(recording: Recording) -> Iterator[int]:
    for process in recording.processes:
        if process.python:
            ended_us = recording.run.wall_us if process.ended_us is None else process.ended_us
            yield ended_us - process.started_us
