"""Run head against its base, round by round, until it is decided, and say what that comes to, however it ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Protocol

from rlprof.errors import Failure, MeasureError
from rlprof.gate.comparability import (
    Work,
    check_same_steps,
    check_same_unit,
    on_counters,
    on_passed_rates,
    on_runs,
)
from rlprof.gate.counters import CounterDifference, CounterTolerance, compare_counters
from rlprof.gate.decision import Decision, DecisionSettings
from rlprof.gate.interruption import Interrupted
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome, Verdict
from rlprof.gate.program import Program, Side, script_file
from rlprof.gate.words import run_in_words
from rlprof.report.wording import counted
from rlprof.units import duration

Tell = Callable[[str], None]
"""Takes a line on how far the check has come."""


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """Demands on a check."""

    decision: DecisionSettings
    tolerances: tuple[CounterTolerance, ...] = ()
    counters_only: bool = False
    in_turns: bool = False
    """Both runs of a pair at once, now the one, now the other."""

    @property
    def asked(self) -> tuple[str, ...]:
        """Names of the counters that must be judged, and so must be told."""
        return tuple(
            tolerance.name for tolerance in self.tolerances if tolerance.relative is not None
        )

    @property
    def first_pairs(self) -> int:
        """Two show whether a counter is the same in each run, and so is judged to the last event."""
        return 2 if self.counters_only else self.decision.looks[0]


class Base(Protocol):
    """Base that head is held against: a program that runs in turn with it, or what was saved in a file."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def head(self) -> Program:
        """The one that is held against it."""

    @property
    def round_name(self) -> str:
        """``pair`` or ``run``."""

    @property
    def runs_a_round(self) -> int: ...

    @property
    def known_counters(self) -> Collection[str] | None:
        """Those that it tells; None for all that occur."""

    def check(self, settings: CheckSettings) -> None:
        """Raise :class:`MeasureError` where it lacks what is asked for."""

    def round(self, number: int) -> Iterator[MeasuredRun]:
        """Make the runs of a round, counted from 1, each told as soon as it is measured; raises :class:`MeasureError`."""

    def work(self, runs: Sequence[MeasuredRun]) -> Work:
        """``runs`` are all so far, head's included."""

    def decide(self, head: Work, base: Work, settings: DecisionSettings) -> Decision:
        """On the rates."""


@dataclass(slots=True)
class _Measurements:
    """Measurements so far, which are told too when the next run fails; and how it ended."""

    runs: list[MeasuredRun] = field(default_factory=list)
    counters: tuple[CounterDifference, ...] = ()
    decision: Decision | None = None
    verdict: Verdict = Verdict.COULD_NOT_MEASURE
    failure: Failure | None = None
    stopped_by: int | None = None

    def end_by(self, why: MeasureError | Interrupted) -> None:
        """Before there was a verdict."""
        if isinstance(why, MeasureError):
            self.failure = Failure.of(why)
            return
        name, after = signal.Signals(why.signum).name, counted(len(self.runs), "run", "runs")
        self.stopped_by = why.signum
        self.failure = Failure(
            slug="check-stopped",
            message=f"{name} ended the check after {after}, before there was a verdict",
            hint="shorter runs, fewer of them (--max-pairs), or more time for the job end in a verdict",
        )


def judge(base: Base, settings: CheckSettings, tell: Tell) -> Outcome:
    """Run until it is decided; never raises :class:`MeasureError`, nor that it was :class:`Interrupted`."""
    trial = _Measurements()
    try:
        base.check(settings)
        trial.verdict = _verdict(base, trial, settings, tell)
    except (MeasureError, Interrupted) as why:
        trial.end_by(why)
    return _outcome(trial, base.name, base.head, settings)


def outcome_without_runs(
    why: MeasureError | Interrupted, base: str, head: Program, settings: CheckSettings
) -> Outcome:
    """The outcome of a check that could not even begin."""
    trial = _Measurements()
    trial.end_by(why)
    return _outcome(trial, base, head, settings)


def _outcome(trial: _Measurements, base: str, head: Program, settings: CheckSettings) -> Outcome:
    notes = [*on_runs(trial.runs)]
    if trial.decision is None and trial.failure is None:
        notes += on_counters(trial.verdict, trial.runs, trial.counters)
    elif trial.verdict is Verdict.PASS:
        notes += on_passed_rates(trial.runs)
    return Outcome(
        verdict=trial.verdict,
        base=base,
        head=head.name,
        command=head.redacted_command,
        script=script_file(head.command, head.folder),
        runs=tuple(trial.runs),
        counters_only=settings.counters_only,
        unit=trial.runs[0].unit if trial.runs else "steps",
        decision=trial.decision,
        counters=trial.counters,
        failure=trial.failure,
        stopped_by=trial.stopped_by,
        notes=tuple(notes),
    )


def _verdict(base: Base, trial: _Measurements, settings: CheckSettings, tell: Tell) -> Verdict:
    wanted = settings.first_pairs
    number = 0
    while number < wanted:
        number += 1
        left = time_left(trial.runs, wanted * base.runs_a_round)
        tell(f"{base.round_name} {number} of {wanted}{left}")
        for run in base.round(number):
            trial.runs.append(run)
            tell_run(run, tell)
        was, now = base.work(trial.runs), Work.of(Side.HEAD, trial.runs)
        check_same_unit(was, now)
        if not settings.counters_only:
            check_same_steps(was, now)
        trial.counters = compare_counters(
            was.counters, now.counters, settings.tolerances, known=base.known_counters
        )
        verdict = _verdict_of_counters(trial.counters, number, settings)
        if verdict is not None:
            return verdict
        if number == wanted:
            trial.decision = base.decide(now, was, settings.decision)
            wanted += _more(trial.decision, tell)
    assert trial.decision is not None, "the last round is decided on"
    return Verdict.of_state(trial.decision.state)


def _verdict_of_counters(
    counters: Sequence[CounterDifference], rounds: int, settings: CheckSettings
) -> Verdict | None:
    """None while they leave it to more runs or the rates."""
    if any(counter.fails for counter in counters):
        return Verdict.REGRESSION
    named = {tolerance.name for tolerance in settings.tolerances}
    is_known = rounds >= settings.first_pairs or all(
        counter.name in named or counter.allowed is None for counter in counters
    )
    return Verdict.PASS if settings.counters_only and is_known else None


def _more(decision: Decision, tell: Tell) -> int:
    """How many more rounds are wanted after ``decision``."""
    if decision.more:
        why = "slower: once more, to confirm" if decision.is_confirming else "not decided yet"
        tell(f"{why}: {decision.more} more")
    return decision.more


def tell_run(run: MeasuredRun, tell: Tell) -> None:
    tell(f"  {run_in_words(run)}")


def time_left(runs: Sequence[MeasuredRun], wanted: int) -> str:
    """How long those to come take, if they take as long as those so far; empty before the first."""
    if not runs:
        return ""
    left_us = 1e6 * fmean(run.wall_s for run in runs) * (wanted - len(runs))
    return f" (about {duration(left_us)} left)"
