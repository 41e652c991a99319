"""Run head against its base, round by round, until it is decided, and say what that comes to, however it ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from statistics import fmean
from typing import Final

from rlprof.errors import Failure, MeasureError
from rlprof.gate.baseline import Baseline
from rlprof.gate.bases import Base, CheckSettings
from rlprof.gate.comparability import (
    Work,
    check_same_steps,
    check_same_unit,
    on_counters,
    on_passed_rates,
    on_runs,
)
from rlprof.gate.counters import CounterDifference, compare_counters
from rlprof.gate.decision import Decision, Verdict
from rlprof.gate.interruption import Interrupted
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome
from rlprof.gate.program import Program, Side, script_file
from rlprof.gate.runner import Runner
from rlprof.gate.words import run_in_words
from rlprof.model.counters import COST_COUNTERS, PROCESSES, TOLD_ON_DEMAND
from rlprof.report.wording import counted
from rlprof.units import duration

Tell = Callable[[str], None]
"""Takes a line on how far the check has come."""


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
    return trial.decision.state


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
    """Return how many more rounds are wanted after ``decision``."""
    if decision.more:
        why = "slower: once more, to confirm" if decision.is_confirming else "not decided yet"
        tell(f"{why}: {decision.more} more")
    return decision.more


def tell_run(run: MeasuredRun, tell: Tell) -> None:
    tell(f"  {run_in_words(run)}")


def time_left(runs: Sequence[MeasuredRun], wanted: int) -> str:
    """Return how long those to come take, if they take as long as those so far; empty before the first."""
    if not runs:
        return ""
    left_us = 1e6 * fmean(run.wall_s for run in runs) * (wanted - len(runs))
    return f" (about {duration(left_us)} left)"


# --- runs that judge nothing, for a baseline file ---------------------------------------------

_COUNTED_ALWAYS: Final = frozenset(COST_COUNTERS) - TOLD_ON_DEMAND
"""In every run, whether it was asked for or not."""


def measure_baseline(
    head: Program,
    runner: Runner,
    *,
    runs: int,
    machine: Mapping[str, str],
    commit: str,
    tell: Tell,
    counters_only: bool = False,
) -> Baseline:
    """Run ``head`` several times; raises :class:`MeasureError`.

    Without rates where only counters were asked for, or a run has none.
    """
    measured: list[MeasuredRun] = []
    for number in range(1, runs + 1):
        tell(f"run {number} of {runs}{time_left(measured, runs)}")
        measured.append(runner.measure(head, number))
        tell_run(measured[-1], tell)
    first = measured[0]
    rates = [] if counters_only else [run.sps.median for run in measured if run.sps is not None]
    return Baseline(
        command=head.redacted_command,
        commit=commit,
        saved=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=machine,
        unit=first.unit,
        source=first.source,
        sps=tuple(rates) if len(rates) == runs else (),
        steps=tuple(run.steps for run in measured),
        counters_per_step=_saved_counters([run.counters.per_step for run in measured]),
    )


def _saved_counters(runs: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, ...]]:
    """Return what each of ``runs`` counted, what was zero included."""
    if not any(run.get(PROCESSES) for run in runs):
        return {}  # No process carried the agent: what nobody counted is not zero.
    names = _COUNTED_ALWAYS.union(*runs)
    return {name: tuple(run.get(name, 0.0) for run in runs) for name in sorted(names)}
