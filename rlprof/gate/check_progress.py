"""How far a check has come, and what it comes to, however it ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

from rlprof.errors import Failure, MeasureError
from rlprof.gate.check_settings import CheckSettings
from rlprof.gate.counters import CounterDifference, RunCounters
from rlprof.gate.decision import Decision
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome, Verdict
from rlprof.gate.processes.interruption import Interrupted
from rlprof.gate.program import Program, Side
from rlprof.gate.remarks import on_counters, on_passed_rates, on_runs
from rlprof.gate.script_file import script_file
from rlprof.gate.words import run_in_words
from rlprof.report.wording import counted
from rlprof.units import duration

Tell = Callable[[str], None]
"""Takes a line on how far the check has come."""


@dataclass(slots=True)
class CheckProgress:
    """What has been measured so far: it is told too when the next run fails."""

    settings: CheckSettings
    tell: Tell
    runs: list[MeasuredRun] = field(default_factory=list)
    counters: tuple[CounterDifference, ...] = ()
    decision: Decision | None = None

    def of(self, side: Side) -> list[MeasuredRun]:
        return [run for run in self.runs if run.side is side]

    def counted(self, side: Side) -> list[RunCounters]:
        return [run.counters for run in self.of(side)]

    def rates(self, side: Side) -> list[float]:
        return [rate_of(run) for run in self.of(side)]

    def add(self, run: MeasuredRun) -> None:
        self.runs.append(run)
        tell_run(run, self.tell)

    def take(self, decision: Decision) -> int:
        """How many more are wanted after it."""
        self.decision = decision
        if decision.more:
            why = "slower: once more, to confirm" if decision.is_confirming else "not decided yet"
            self.tell(f"{why}: {decision.more} more")
        return decision.more

    def verdict_of_counters(self) -> Verdict | None:
        """What the counters say so far; None while they leave it to more runs or the rates."""
        if any(it.fails for it in self.counters):
            return Verdict.REGRESSION
        named = {it.name for it in self.settings.tolerances}
        is_known = len(self.of(Side.HEAD)) >= self.settings.first_pairs or all(
            it.name in named or it.allowed is None for it in self.counters
        )
        return Verdict.PASS if self.settings.counters_only and is_known else None

    def verdict_of_rates(self) -> Verdict:
        assert self.decision is not None, "the last run is decided on"
        return Verdict.of_state(self.decision.state)

    def outcome(self, judge: Callable[[], Verdict], base: str, head: Program) -> Outcome:
        """What ``judge`` comes to, be it a :class:`MeasureError` or that it was :class:`Interrupted`."""
        end = _end(judge, self.runs)
        notes = [*on_runs(self.runs)]
        if self.decision is None and end.failure is None:
            notes += on_counters(end.verdict, self.runs, self.counters)
        elif end.verdict is Verdict.PASS:
            notes += on_passed_rates(self.runs)
        return Outcome(
            verdict=end.verdict,
            base=base,
            head=head.name,
            command=head.told_command,
            script=script_file(head.command, head.folder),
            runs=tuple(self.runs),
            counters_only=self.settings.counters_only,
            unit=self.runs[0].unit if self.runs else "steps",
            decision=self.decision,
            counters=self.counters,
            failure=end.failure,
            stopped_by=end.stopped_by,
            notes=tuple(notes),
        )


def outcome_without_runs(
    why: MeasureError | Interrupted, base: str, head: Program, settings: CheckSettings
) -> Outcome:
    """The outcome of a check that could not even begin."""

    def judge() -> Verdict:
        raise why

    return CheckProgress(settings, lambda _: None).outcome(judge, base, head)


def tell_run(run: MeasuredRun, tell: Tell) -> None:
    tell(f"  {run_in_words(run)}")


def time_left(runs: Sequence[MeasuredRun], wanted: int) -> str:
    """How long those to come take, if they take as long as those so far; empty before the first."""
    if not runs:
        return ""
    left_us = 1e6 * fmean(run.wall_s for run in runs) * (wanted - len(runs))
    return f" (about {duration(left_us)} left)"


def rate_of(run: MeasuredRun) -> float:
    assert run.sps is not None, "the runner refuses runs without a rate"
    return run.sps.median


class _End(NamedTuple):
    verdict: Verdict
    failure: Failure | None = None
    stopped_by: int | None = None


def _end(judge: Callable[[], Verdict], runs: Sequence[MeasuredRun]) -> _End:
    try:
        return _End(judge())
    except MeasureError as error:
        return _End(Verdict.COULD_NOT_MEASURE, Failure.of(error))
    except Interrupted as stop:
        name, after = signal.Signals(stop.signum).name, counted(len(runs), "run", "runs")
        failure = Failure(
            slug="check-stopped",
            message=f"{name} ended the check after {after}, before there was a verdict",
            hint="shorter runs, fewer of them (--max-pairs), or more time for the job end in a verdict",
        )
        return _End(Verdict.COULD_NOT_MEASURE, failure, stop.signum)
