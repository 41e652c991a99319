"""A check from its first run to its verdict."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

from rlprof.errors import MeasureError
from rlprof.gate.baseline import Baseline
from rlprof.gate.counters import (
    CounterDifference,
    CounterTolerance,
    RunCounters,
    compare_counters,
)
from rlprof.gate.decision import Decision, DecisionSettings, Pair, decide, decide_unpaired
from rlprof.gate.fingerprint import differences
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Failure, Outcome, Verdict
from rlprof.gate.program import Program, Side
from rlprof.gate.remarks import (
    on_counters,
    on_passed_rates,
    on_runs,
    on_saved_command,
    on_unsaved_counters,
)
from rlprof.gate.running.interruption import Interrupted
from rlprof.gate.running.runner import Runner
from rlprof.gate.script_file import script_file
from rlprof.gate.words import run_in_words
from rlprof.gate.workload import check_same_steps, check_same_unit
from rlprof.model.counters import COST_COUNTERS, PROCESSES, TOLD_ON_DEMAND
from rlprof.model.recording import Note
from rlprof.units import duration
from rlprof.wording import counted

Tell = Callable[[str], None]
"""Takes a line on how far the check has come."""

_COUNTED_ALWAYS: Final = frozenset(COST_COUNTERS) - TOLD_ON_DEMAND
"""In every run, whether it was asked for or not."""


@dataclass(frozen=True, slots=True)
class CheckSettings:
    decision: DecisionSettings
    tolerances: tuple[CounterTolerance, ...] = ()
    counters_only: bool = False
    in_turns: bool = False
    """Both runs of a pair at once, now the one, now the other."""

    @property
    def asked(self) -> tuple[str, ...]:
        """Names of the counters that must be judged, and so must be told."""
        return tuple(it.name for it in self.tolerances if it.relative is not None)

    @property
    def first_pairs(self) -> int:
        """Two show whether a counter is the same in each run, and so is judged to the last event."""
        return 2 if self.counters_only else self.decision.looks[0]


def programs_in_turn(base: Program, head: Program, pair: int) -> tuple[Program, Program]:
    """ABBA: what a machine does over time, as to grow warm, falls on both sides alike."""
    return (base, head) if pair % 2 else (head, base)


@dataclass(slots=True)
class _Progress:
    """What has been measured so far: it is told too when the next run fails."""

    runs: list[MeasuredRun] = field(default_factory=list)
    counters: tuple[CounterDifference, ...] = ()
    decision: Decision | None = None

    def of(self, side: Side) -> list[MeasuredRun]:
        return [run for run in self.runs if run.side is side]

    def counted(self, side: Side) -> list[RunCounters]:
        return [run.counters for run in self.of(side)]


def _verdict_of_counters(progress: _Progress, settings: CheckSettings) -> Verdict | None:
    """What the counters say so far; None while they leave it to more runs or the rates."""
    if any(it.fails for it in progress.counters):
        return Verdict.REGRESSION
    named = {it.name for it in settings.tolerances}
    is_known = len(progress.of(Side.HEAD)) >= settings.first_pairs or all(
        it.name in named or it.allowed is None for it in progress.counters
    )
    return Verdict.PASS if settings.counters_only and is_known else None


def check_pairs(
    base: Program, head: Program, runner: Runner, settings: CheckSettings, tell: Tell
) -> Outcome:
    """Run both in turn until it is decided; never raises :class:`MeasureError`."""
    progress = _Progress()
    judge = partial(_judge_pairs, (base, head), runner, settings, progress, tell)
    outcome = _outcome(_end(judge, progress), base.name, head, progress)
    return replace(outcome, counters_only=settings.counters_only)


def _judge_pairs(
    sides: tuple[Program, Program],
    runner: Runner,
    settings: CheckSettings,
    progress: _Progress,
    tell: Tell,
) -> Verdict:
    pairs: list[Pair] = []
    wanted = settings.first_pairs
    number = 0
    while number < wanted:
        number += 1
        tell(f"pair {number} of {wanted}{_left(progress.runs, 2 * wanted)}")
        for run in _runs_of_pair(sides, number, runner, in_turns=settings.in_turns):
            progress.runs.append(run)
            _tell_run(run, tell)
        was, now = (progress.of(side)[-1] for side in (Side.BASE, Side.HEAD))
        check_same_unit((was.unit, was.source), (now.unit, now.source))
        if not settings.counters_only:
            pairs.append(Pair(_rate(was), _rate(now)))
            _check_steps(progress, pairs)
        counted = progress.counted(Side.BASE), progress.counted(Side.HEAD)
        progress.counters = compare_counters(*counted, settings.tolerances)
        verdict = _verdict_of_counters(progress, settings)
        if verdict is not None:
            return verdict
        if len(pairs) == wanted:
            progress.decision = decide(pairs, settings.decision, in_turns=settings.in_turns)
            wanted += progress.decision.more
            _tell_more(progress.decision, tell)
    assert progress.decision is not None, "the last pair is decided on"
    return Verdict.of_state(progress.decision.state)


def check_against_baseline(
    baseline: Baseline,
    name: str,
    head: Program,
    runner: Runner,
    settings: CheckSettings,
    tell: Tell,
) -> Outcome:
    """Run head alone, against what was saved; never raises :class:`MeasureError`."""
    progress = _Progress()
    saved = tuple(
        RunCounters({name: of[at] for name, of in baseline.counters_per_step.items()}, steps)
        for at, steps in enumerate(baseline.steps)
    )

    def judge() -> Verdict:
        _check_saved(baseline, name, settings)
        return _judge_head(baseline, saved, head, runner, settings, progress, tell)

    outcome = _outcome(_end(judge, progress), name, head, progress)
    remarks = (*on_saved_command(baseline, head), *on_unsaved_counters(progress.counters))
    return replace(
        outcome,
        saved_sps=baseline.sps,
        saved_counters=saved,
        counters_only=settings.counters_only,
        notes=(*outcome.notes, *remarks),
    )


def _judge_head(
    baseline: Baseline,
    saved: Sequence[RunCounters],
    head: Program,
    runner: Runner,
    settings: CheckSettings,
    progress: _Progress,
    tell: Tell,
) -> Verdict:
    wanted = settings.first_pairs
    while len(progress.runs) < wanted:
        number = len(progress.runs) + 1
        tell(f"run {number} of {wanted}{_left(progress.runs, wanted)}")
        run = runner.measure(head, number)
        progress.runs.append(run)
        _tell_run(run, tell)
        check_same_unit((baseline.unit, baseline.source), (run.unit, run.source))
        progress.counters = compare_counters(
            saved,
            progress.counted(Side.HEAD),
            settings.tolerances,
            known=baseline.counters_per_step.keys(),
        )
        verdict = _verdict_of_counters(progress, settings)
        if verdict is not None:
            return verdict
        if len(progress.runs) == wanted:
            steps = [it.steps for it in progress.runs]
            rates = [_rate(it) for it in progress.runs]
            check_same_steps(baseline.steps, steps, (baseline.sps, rates))
            progress.decision = decide_unpaired(baseline.sps, rates, settings.decision)
            wanted += progress.decision.more
            _tell_more(progress.decision, tell)
    assert progress.decision is not None, "the last run is decided on"
    return Verdict.of_state(progress.decision.state)


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
        tell(f"run {number} of {runs}{_left(measured, runs)}")
        measured.append(runner.measure(head, number))
        _tell_run(measured[-1], tell)
    first = measured[0]
    rates = [] if counters_only else [run.sps.median for run in measured if run.sps is not None]
    return Baseline(
        command=head.told_command,
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
    """What each of ``runs`` counted, what was zero included."""
    if not any(run.get(PROCESSES) for run in runs):
        return {}  # No process carried the agent: what nobody counted is not zero.
    names = _COUNTED_ALWAYS.union(*runs)
    return {name: tuple(run.get(name, 0.0) for run in runs) for name in sorted(names)}


def not_measured(error: MeasureError, base: str, head: Program) -> Outcome:
    """The outcome of a check that could not even begin."""
    end = _End(Verdict.COULD_NOT_MEASURE, Failure.of(error))
    return _outcome(end, base, head, _Progress())


def stopped_at_once(stop: Interrupted, base: str, head: Program) -> Outcome:
    """The outcome of a check that was told to stop before its first run."""
    progress = _Progress()
    return _outcome(_stopped(stop, progress), base, head, progress)


def check_machine(
    baseline: Baseline, path: Path, here: Mapping[str, str], *, is_relaxed: bool
) -> tuple[Note, ...]:
    """Raise :class:`MeasureError` when the baseline is of another machine than ``here``; if that is fine,
    a note says so.
    """
    found = differences(baseline.machine, here)
    if not found:
        return ()
    if not is_relaxed:
        raise MeasureError(
            f"the baseline {path} is of another machine ({'; '.join(found)})",
            slug="baseline-other-machine",
            hint="save one here with --save-baseline, compare with --base, which runs both here, or "
            "accept what the machines differ by with --relax-machine",
        )
    text = f"The baseline is of another machine, which was accepted: {'; '.join(found)}."
    return (Note("warning", "machine-relaxed", text),)


# --- parts ----------------------------------------------------------------------------------


class _End(NamedTuple):
    verdict: Verdict
    failure: Failure | None = None
    stopped_by: int | None = None


def _end(judge: Callable[[], Verdict], progress: _Progress) -> _End:
    try:
        return _End(judge())
    except MeasureError as error:
        return _End(Verdict.COULD_NOT_MEASURE, Failure.of(error))
    except Interrupted as stop:
        return _stopped(stop, progress)


def _stopped(stop: Interrupted, progress: _Progress) -> _End:
    runs = counted(len(progress.runs), "run", "runs")
    failure = Failure(
        slug="check-stopped",
        message=f"{signal.Signals(stop.signum).name} ended the check after {runs}, before there was a verdict",
        hint="shorter runs, fewer of them (--max-pairs), or more time for the job end in a verdict",
    )
    return _End(Verdict.COULD_NOT_MEASURE, failure, stop.signum)


def _check_saved(baseline: Baseline, name: str, settings: CheckSettings) -> None:
    """Raise :class:`MeasureError` where ``baseline`` lacks what is asked for."""
    if not settings.counters_only and not baseline.sps:
        raise MeasureError(
            f"the baseline {name} has no rates",
            slug="baseline-without-rates",
            hint="save it again without --counters-only, or compare counters alone: --counters-only",
        )
    if settings.counters_only and not baseline.counters_per_step:
        raise MeasureError(
            f"the baseline {name} has no counters",
            slug="baseline-lacks-counter",
            hint="save it again: of a program that counts its steps, and whose Python has rlprof's agent",
        )
    for counter in settings.asked:
        if counter not in baseline.counters_per_step:
            too = f", with --counter {counter}=0 there too" if counter in TOLD_ON_DEMAND else ""
            raise MeasureError(
                f"the baseline {name} does not tell {counter}",
                slug="baseline-lacks-counter",
                hint=f"save it again{too}",
            )


def _runs_of_pair(
    sides: tuple[Program, Program], number: int, runner: Runner, *, in_turns: bool
) -> Iterator[MeasuredRun]:
    """As soon as each is measured: it is told too when the next one fails."""
    first, second = programs_in_turn(*sides, number)
    if in_turns:
        yield from runner.measure_in_turns(first, second, number)
    else:
        yield runner.measure(first, number)
        yield runner.measure(second, number)


def _tell_run(run: MeasuredRun, tell: Tell) -> None:
    tell(f"  {run_in_words(run)}")


def _left(runs: Sequence[MeasuredRun], wanted: int) -> str:
    """How long those to come take, if they take as long as those so far; empty before the first."""
    if not runs:
        return ""
    left_us = 1e6 * fmean(run.wall_s for run in runs) * (wanted - len(runs))
    return f" (about {duration(left_us)} left)"


def _check_steps(progress: _Progress, pairs: Sequence[Pair]) -> None:
    base, head = ([run.steps for run in progress.of(side)] for side in (Side.BASE, Side.HEAD))
    rates = [pair.base for pair in pairs], [pair.head for pair in pairs]
    check_same_steps(base, head, rates)


def _rate(run: MeasuredRun) -> float:
    assert run.sps is not None, "the runner refuses runs without a rate"
    return run.sps.median


def _tell_more(decision: Decision, tell: Tell) -> None:
    if decision.more:
        why = "slower: once more, to confirm" if decision.is_confirming else "not decided yet"
        tell(f"{why}: {decision.more} more")


def _outcome(end: _End, base: str, head: Program, progress: _Progress) -> Outcome:
    remarks = [*on_runs(progress.runs)]
    if progress.decision is None:
        remarks += on_counters(end.verdict, progress.runs, progress.counters)
    elif end.verdict is Verdict.PASS:
        remarks += on_passed_rates(progress.runs)
    return Outcome(
        verdict=end.verdict,
        base=base,
        head=head.name,
        command=head.told_command,
        script=script_file(head.command, head.folder),
        runs=tuple(progress.runs),
        unit=progress.runs[0].unit if progress.runs else "steps",
        decision=progress.decision,
        counters=progress.counters,
        failure=end.failure,
        stopped_by=end.stopped_by,
        notes=tuple(remarks),
    )
