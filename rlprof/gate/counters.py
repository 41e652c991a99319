"""Tell what is counted, not timed: events and bytes per step of head against those of base.

The same program makes the same counts on any machine, and then one event more is one too many. Programs
of several processes may be another matter: how many updates a learner makes per step of its
actors depends on who is faster today. One run a side cannot tell which kind a program is of; two can.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import floor, sqrt
from statistics import median
from typing import Final, NamedTuple

from rlprof.errors import UsageError
from rlprof.libraries.step_sources import STEP_SOURCES, is_of_steps
from rlprof.model.counters import (
    COMPILES,
    COST_COUNTERS,
    GC_COLLECTIONS,
    KERNEL_LAUNCHES,
    PROCESSES,
)
from rlprof.report.wording import in_brackets
from rlprof.units import count, percent

NOISE: Final[Mapping[str, str]] = {
    GC_COLLECTIONS: "it depends on which objects happen to be alive, those of other threads included",
    KERNEL_LAUNCHES: "they are told from a few updates under torch's profiler, not counted",
}
"""Counters that differ between runs of one program, each with the reason; judged only when asked for."""

NEVER_BY_CLOCK: Final = frozenset({COMPILES, PROCESSES})
"""Counters that belong to a run and not to its steps: of these a single event more in the whole run is no matter of
time, and as many in fewer steps are no more.
"""

ROUNDING: Final = 0.5
"""Part of an event: counts are kept per step, and what is above by less is none."""

_CLEAR: Final = 0.9
"""Growth that one run may show by chance, nearly twice as many: in asynchronous programs counts vary by a tenth or two."""

_SMALL: Final = 0.05
"""Growth that is let pass where counts vary from run to run: by other seeds, or by the clock."""

_RARE: Final = 0.01
"""Events per step that are let pass: what a program does once a second it does more often per step when it
is slower, and equally often in both runs of a side. None of what belongs to a run: of many steps, that many
would be hundreds of processes."""

_SIGMAS: Final = 4.0
"""Standard deviations by which chance alone hardly ever makes one run count more than another: three
are too few (``benchmarks/gate.py``), as a single run tells the mean of rare events badly."""

_ENOUGH_RUNS: Final = 5
"""A side: all five of head above all five of base is one case in 252."""

_TERM: Final = re.compile(
    r"\s*(?P<name>[^=\s]+)\s*=\s*(?:(?P<zero>0)|(?P<off>off)|(?P<share>\d+(?:\.\d+)?)\s*%)\s*"
)


@dataclass(frozen=True, slots=True)
class CounterTolerance:
    """The growth of a counter that is still fine."""

    name: str
    relative: float | None
    """Share of the count of base; None where the counter is not judged at all."""


@dataclass(frozen=True, slots=True)
class RunCounters:
    """Counts of one whole run."""

    per_step: Mapping[str, float]
    steps: float


@dataclass(frozen=True, slots=True)
class CounterDifference:
    """One counter of both sides, per step."""

    name: str
    base: float | None
    """None where it is not known."""
    head: float
    allowed: float | None
    """The most that head may have in as many steps as it made; None where the counter is not judged."""
    fails: bool
    reason: str
    """In words, for every output."""


def parse_tolerance(text: str) -> CounterTolerance:
    """``gpu_syncs=0`` (not one more), ``h2d_bytes=5%``, ``ipc_bytes=off``."""
    term = _TERM.fullmatch(text)
    if term is None:
        raise UsageError(
            f"cannot read the tolerance {text!r} of a counter",
            slug="bad-counter",
            hint="write a counter and by how much it may grow: gpu_syncs=0, h2d_bytes=5% or ipc_bytes=off",
        )
    if term["name"] in STEP_SOURCES:
        raise UsageError(
            f"{term['name']} counts the steps themselves",
            slug="bad-counter",
            hint="counters are compared per step: name what happens in a step, such as gpu_syncs",
        )
    if term["name"] not in COST_COUNTERS:
        raise UsageError(
            f"there is no counter {term['name']}",
            slug="bad-counter",
            hint=f"there are {', '.join(COST_COUNTERS)}",
        )
    if term["off"]:
        return CounterTolerance(term["name"], None)
    return CounterTolerance(term["name"], float(term["share"] or 0) / 100)


def compare_counters(
    base: Sequence[RunCounters],
    head: Sequence[RunCounters],
    tolerances: Sequence[CounterTolerance] = (),
    *,
    known: Collection[str] | None = None,
) -> tuple[CounterDifference, ...]:
    """Every counter of either side, and each that was asked for; failures first, then by name.

    ``base`` and ``head`` are all runs so far, at least one each. A counter fails only when all runs of head are
    above what all runs of base allow. ``known`` are those that base tells, None for all: of others nobody knows
    that they were zero. Empty where a run has no steps, as that of a program that prints its rate alone.
    """
    if not all(run.steps for run in (*base, *head)):
        return ()
    asked = {tolerance.name: tolerance.relative for tolerance in tolerances}
    names = {name for run in (*base, *head) for name in run.per_step} | asked.keys()
    rows = []
    for name in names:
        if not is_of_steps(name):
            continue
        counted = _Counted.of(name, base, head)
        is_known = known is None or name in known or name in asked
        rows.append(_difference(counted, asked) if is_known else _not_known(counted))
    return tuple(sorted(rows, key=lambda row: (not row.fails, row.name)))


class _Count(NamedTuple):
    """Count of one run."""

    per_step: float
    steps: float

    @property
    def total(self) -> float:
        return self.per_step * self.steps


@dataclass(frozen=True, slots=True)
class _Counted:
    """One counter in all runs."""

    name: str
    base: tuple[_Count, ...]
    head: tuple[_Count, ...]

    @classmethod
    def of(cls, name: str, base: Sequence[RunCounters], head: Sequence[RunCounters]) -> _Counted:
        was, now = (
            tuple(_Count(run.per_step.get(name, 0.0), run.steps) for run in side)
            for side in (base, head)
        )
        return cls(name, was, now)

    @property
    def runs(self) -> int:
        """Runs of the side that has fewer."""
        return min(len(self.base), len(self.head))

    @property
    def is_of_runs(self) -> bool:
        return self.name in NEVER_BY_CLOCK

    @property
    def highest(self) -> _Count:
        """The run of base that has most."""
        return max(self.base, key=lambda run: run.total) if self.is_of_runs else max(self.base)

    def comparable(self, side: Sequence[_Count]) -> list[float]:
        """Per step; of what belongs to runs, as if each had made the steps of ``highest``."""
        steps = self.highest.steps
        return [run.total / steps if self.is_of_runs else run.per_step for run in side]

    @property
    def variation(self) -> float:
        """From the lowest to the highest run of the side that varies more."""
        return max(max(side) - min(side) for side in map(self.comparable, (self.base, self.head)))

    @property
    def agrees(self) -> bool:
        """True if all runs of a side do."""
        fewest = min(run.steps for run in self.head)
        steps = self.highest.steps if self.is_of_runs else fewest
        return self.variation * steps < ROUNDING

    @property
    def rare(self) -> float:
        """So few are let pass where no share of them is asked for."""
        return 0.0 if self.is_of_runs else _RARE

    def most(self, allowed: float, steps: float) -> float:
        """Return what a run of so many steps may have per step, where ``allowed`` is in runs like those of base.

        In all no less than those: what a program does once, or once a second, is more per step
        where steps are fewer.
        """
        of_run = allowed * self.highest.steps / steps
        return of_run if self.is_of_runs else max(allowed, of_run)

    def is_above(self, allowed: float) -> bool:
        """Tell whether every run of head is."""
        return all(
            (run.per_step - self.most(allowed, run.steps)) * run.steps > ROUNDING
            for run in self.head
        )


def _difference(counted: _Counted, asked: Mapping[str, float | None]) -> CounterDifference:
    allowed, why = _allowed(counted, asked)
    fails = allowed is not None and counted.is_above(allowed)
    if allowed is not None:
        why = _in_words(counted, allowed, why) if fails else _fine_in_words(counted, allowed, why)
        allowed = counted.most(allowed, median(run.steps for run in counted.head))
    return CounterDifference(
        name=counted.name,
        base=median(run.per_step for run in counted.base),
        head=median(run.per_step for run in counted.head),
        allowed=allowed,
        fails=fails,
        reason=why,
    )


def _not_known(counted: _Counted) -> CounterDifference:
    head = median(run.per_step for run in counted.head)
    return CounterDifference(
        counted.name, None, head, None, False, "not judged: base does not tell it"
    )


def _allowed(counted: _Counted, asked: Mapping[str, float | None]) -> tuple[float | None, str]:
    """The most that a run of head may have per step, if it makes as many as base; and why that."""
    highest = counted.highest.per_step
    if counted.name in asked:
        relative = asked[counted.name]
        if relative is None:
            return None, "not judged, as asked"
        return highest * (1 + relative), f"{percent(relative)} more is allowed" if relative else ""
    if counted.name in NOISE:
        return None, f"not judged: {NOISE[counted.name]}"
    if counted.runs > 1 and counted.agrees:
        return highest + _slack_of_agreed(counted), "all runs of a side agree"
    if counted.runs >= _ENOUGH_RUNS:
        slack = max(_SMALL * highest, counted.rare, counted.variation)
        return highest + slack, "it varies from run to run"
    slack = max(_CLEAR * highest, counted.rare, counted.variation, _by_chance(counted))
    return highest + slack, "so few runs do not tell whether it varies"


def _by_chance(counted: _Counted) -> float:
    """Return what events that come at random differ by from run to run, per step (Poisson)."""
    if counted.name.endswith("_bytes"):
        return 0.0
    most = counted.highest
    return _SIGMAS * sqrt(2 * most.total + 1) / most.steps if most.steps else 0.0


def _slack_of_agreed(counted: _Counted) -> float:
    is_of_bytes = counted.name.endswith("_bytes")
    return _SMALL * counted.highest.per_step if is_of_bytes else counted.rare


def _in_words(counted: _Counted, allowed: float, why: str) -> str:
    """Return why it fails."""
    was, now = (median(counted.comparable(side)) for side in (counted.base, counted.head))
    times = count(now / was) if was else ""
    change = f"{times} times as many" if was else "new"
    if times == "1":
        change = "more"
    return f"{change}: {_too_many(counted, allowed, now)}{in_brackets(why)}"


def _too_many(counted: _Counted, allowed: float, now: float) -> str:
    lowest = min(counted.head, key=lambda run: run.total)
    if counted.is_of_runs:
        return f"{count(round(lowest.total))} in a run, {_most_in_a_run(counted, allowed)} allowed"
    most = counted.most(allowed, lowest.steps)
    totals = count(round(lowest.total)), count(round(most * lowest.steps))
    if count(now) == count(most):  # Rounding hides what is above.
        return f"{totals[0]} in {count(lowest.steps)} steps, {totals[1]} allowed"
    return f"{count(now)} per step, {count(most)} allowed"


def _fine_in_words(counted: _Counted, allowed: float, why: str) -> str:
    was, now = (median(counted.comparable(side)) for side in (counted.base, counted.head))
    steps = counted.highest.steps
    if now <= was or (now - was) * steps < ROUNDING:
        return "fewer" if (was - now) * steps >= ROUNDING else "the same"
    if counted.is_of_runs:
        most = f"{_most_in_a_run(counted, allowed)} allowed in a run"
    else:
        most = f"{count(counted.most(allowed, median(run.steps for run in counted.head)))} allowed"
    return f"more, but not beyond the {most}{in_brackets(why)}"


def _most_in_a_run(counted: _Counted, allowed: float) -> str:
    """The largest whole number that does not fail."""
    return count(floor(allowed * counted.highest.steps + ROUNDING))
