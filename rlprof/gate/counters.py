"""What is counted, not timed: events and bytes per step of head against those of base.

The same program makes the same counts on any machine, and then one event more is one too many. Programs
of several processes may be another matter: how many updates a learner makes per step of its
actors depends on who is faster today. One run a side cannot tell which kind a program is of; two can.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from rlprof.errors import UsageError
from rlprof.model.counters import (
    COMPILES,
    COST_COUNTERS,
    GC_COLLECTIONS,
    KERNEL_LAUNCHES,
    PROCESSES,
    STEP_COUNTERS,
)
from rlprof.units import count, percent

NOISE: Final[Mapping[str, str]] = {
    GC_COLLECTIONS: "it depends on which objects happen to be alive, those of other threads included",
    KERNEL_LAUNCHES: "they are told from a few updates under torch's profiler, not counted",
}
"""Counters that differ between runs of one program, each with the reason; judged only when asked for."""

NEVER_BY_CLOCK: Final = frozenset({COMPILES, PROCESSES})
"""Counters of which a single event more in the whole run is no matter of time."""

_CLEAR: Final = 0.9
"""Growth that one run may show by chance, nearly twice as many: in asynchronous programs counts vary by a tenth or two."""

_SMALL: Final = 0.05
"""Growth that is let pass where counts vary from run to run: by other seeds, or by the clock."""

_RARE: Final = 0.01
"""Events per step that are let pass: what a program does once a second it does more often per step when it
is slower, and for the same number of times in both runs of a side."""

_ENOUGH_RUNS: Final = 5
"""A side: all five of head above all five of base is one case in 252."""

_TERM: Final = re.compile(
    r"\s*(?P<name>[^=\s]+)\s*=\s*(?:(?P<zero>0)|(?P<off>off)|(?P<share>\d+(?:\.\d+)?)\s*%)\s*"
)


@dataclass(frozen=True, slots=True)
class CounterTolerance:
    """How much more of a counter is still fine."""

    name: str
    relative: float | None
    """Of the count of base; None where the counter is not judged at all."""


@dataclass(frozen=True, slots=True)
class RunCounters:
    """What one whole run counted."""

    per_step: Mapping[str, float]
    steps: float


@dataclass(frozen=True, slots=True)
class CounterDifference:
    """One counter of both sides, per step."""

    name: str
    base: float
    head: float
    allowed: float | None
    """The most that head may have; None where the counter is not judged."""
    fails: bool
    reason: str
    """In words, for every output."""


def parse_tolerance(text: str) -> CounterTolerance:
    """``gpu_syncs=0`` (not one more), ``h2d_bytes=5%``, ``ipc_bytes=off``."""
    term = _TERM.fullmatch(text)
    if term is None:
        raise UsageError(
            f"Cannot read the tolerance {text!r} of a counter.",
            slug="bad-counter",
            hint="Write a counter and by how much it may grow: gpu_syncs=0, h2d_bytes=5% or ipc_bytes=off.",
        )
    if term["name"] in STEP_COUNTERS:
        raise UsageError(
            f"{term['name']} counts the steps themselves.",
            slug="bad-counter",
            hint="Counters are compared per step. Name what happens in a step, such as gpu_syncs.",
        )
    if term["name"] not in COST_COUNTERS:
        raise UsageError(
            f"There is no counter {term['name']}.",
            slug="bad-counter",
            hint=f"There are {', '.join(COST_COUNTERS)}.",
        )
    if term["off"]:
        return CounterTolerance(term["name"], None)
    return CounterTolerance(term["name"], float(term["share"] or 0) / 100)


def compare_counters(
    base: Sequence[RunCounters],
    head: Sequence[RunCounters],
    tolerances: Sequence[CounterTolerance] = (),
) -> tuple[CounterDifference, ...]:
    """Every counter of either side, and each that was asked for; failures first, then by name.

    ``base`` and ``head`` are all runs so far, at least one each. A counter fails only when all runs of head are
    above what all runs of base allow.
    """
    asked = {it.name: it.relative for it in tolerances}
    counted = {name for run in (*base, *head) for name in run.per_step}
    rows = [
        _difference(_Counted.of(name, base, head), asked)
        for name in counted | asked.keys()
        if name not in STEP_COUNTERS and not name.startswith("phase:")
    ]
    return tuple(sorted(rows, key=lambda it: (not it.fails, it.name)))


@dataclass(frozen=True, slots=True)
class _Counted:
    """One counter in all runs."""

    name: str
    base: tuple[float, ...]
    head: tuple[float, ...]
    steps: float
    """Of the shortest run of head."""

    @classmethod
    def of(cls, name: str, base: Sequence[RunCounters], head: Sequence[RunCounters]) -> _Counted:
        was, now = (tuple(it.per_step.get(name, 0.0) for it in side) for side in (base, head))
        return cls(name, was, now, min(it.steps for it in head))

    @property
    def runs(self) -> int:
        """Of the side that has fewer."""
        return min(len(self.base), len(self.head))

    @property
    def variation(self) -> float:
        """From the lowest to the highest run of the side that varies more."""
        return max(max(side) - min(side) for side in (self.base, self.head))

    def is_above(self, allowed: float) -> bool:
        """By half an event at least: less is rounding."""
        return (min(self.head) - allowed) * self.steps > 0.5


def _difference(counted: _Counted, asked: Mapping[str, float | None]) -> CounterDifference:
    allowed, why = _allowed(counted, asked)
    fails = allowed is not None and counted.is_above(allowed)
    return CounterDifference(
        name=counted.name,
        base=median(counted.base),
        head=median(counted.head),
        allowed=allowed,
        fails=fails,
        reason=why if allowed is None else _in_words(counted, allowed, why, fails=fails),
    )


def _allowed(counted: _Counted, asked: Mapping[str, float | None]) -> tuple[float | None, str]:
    """The most that head may have, and why that."""
    highest = max(counted.base)
    if counted.name in asked:
        relative = asked[counted.name]
        if relative is None:
            return None, "not judged, as asked"
        return highest * (1 + relative), f"{percent(relative)} more is allowed" if relative else ""
    if counted.name in NOISE:
        return None, f"not judged: {NOISE[counted.name]}"
    if counted.runs > 1 and counted.variation * counted.steps < 0.5:
        return highest + _slack_of_agreed(counted.name, highest), "all runs of a side agree"
    if counted.runs >= _ENOUGH_RUNS:
        slack = max(_SMALL * highest, _RARE, counted.variation)
        return highest + slack, "it varies from run to run"
    slack = max(_CLEAR * highest, _RARE, counted.variation)
    return highest + slack, "so few runs do not tell whether it varies"


def _slack_of_agreed(name: str, highest: float) -> float:
    if name in NEVER_BY_CLOCK:
        return 0.0
    return _SMALL * highest if name.endswith("_bytes") else _RARE


def _in_words(counted: _Counted, allowed: float, why: str, *, fails: bool) -> str:
    was, now = median(counted.base), median(counted.head)
    if fails:
        change = "new" if not was else f"{count(now / was)} times as many"
        return f"{change}: {count(now)} per step, {count(allowed)} allowed" + (
            f" ({why})" if why else ""
        )
    if now <= was:
        return "the same" if now == was else "fewer"
    return f"more, but not beyond the {count(allowed)} allowed" + (f" ({why})" if why else "")
