"""A check against a baseline file, and the runs that such a file is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from rlprof.errors import MeasureError
from rlprof.gate.baseline import Baseline
from rlprof.gate.check_progress import CheckProgress, Tell, tell_run, time_left
from rlprof.gate.check_settings import CheckSettings
from rlprof.gate.counters import RunCounters, compare_counters
from rlprof.gate.decision import decide_unpaired
from rlprof.gate.fingerprint import differences
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome, Verdict
from rlprof.gate.program import Program, Side
from rlprof.gate.remarks import on_saved_command, on_unsaved_counters
from rlprof.gate.running.runner import Runner
from rlprof.gate.workload import check_same_steps, check_same_unit
from rlprof.model.counters import COST_COUNTERS, PROCESSES, TOLD_ON_DEMAND
from rlprof.model.recording import Note

_COUNTED_ALWAYS: Final = frozenset(COST_COUNTERS) - TOLD_ON_DEMAND
"""In every run, whether it was asked for or not."""


def check_against_baseline(
    baseline: Baseline,
    name: str,
    head: Program,
    runner: Runner,
    settings: CheckSettings,
    tell: Tell,
) -> Outcome:
    """Run head alone, against what was saved; never raises :class:`MeasureError`."""
    progress = CheckProgress(settings, tell)
    saved = tuple(
        RunCounters({counter: of[at] for counter, of in baseline.counters_per_step.items()}, steps)
        for at, steps in enumerate(baseline.steps)
    )

    def judge() -> Verdict:
        _check_saved(baseline, name, settings)
        return _judge(baseline, saved, head, runner, progress)

    outcome = progress.outcome(judge, name, head)
    remarks = (*on_saved_command(baseline, head), *on_unsaved_counters(progress.counters))
    return replace(
        outcome,
        saved_sps=baseline.sps,
        saved_counters=saved,
        notes=(*outcome.notes, *remarks),
    )


def _judge(
    baseline: Baseline,
    saved: Sequence[RunCounters],
    head: Program,
    runner: Runner,
    progress: CheckProgress,
) -> Verdict:
    settings = progress.settings
    wanted = settings.first_pairs
    while len(progress.runs) < wanted:
        number = len(progress.runs) + 1
        progress.tell(f"run {number} of {wanted}{time_left(progress.runs, wanted)}")
        run = runner.measure(head, number)
        progress.add(run)
        check_same_unit((baseline.unit, baseline.source), (run.unit, run.source))
        if not settings.counters_only:
            steps, rates = [it.steps for it in progress.runs], progress.rates(Side.HEAD)
            check_same_steps(baseline.steps, steps, (baseline.sps, rates))
        progress.counters = compare_counters(
            saved,
            progress.counted(Side.HEAD),
            settings.tolerances,
            known=baseline.counters_per_step.keys(),
        )
        verdict = progress.verdict_of_counters()
        if verdict is not None:
            return verdict
        if number == wanted:
            rates = progress.rates(Side.HEAD)
            wanted += progress.take(decide_unpaired(baseline.sps, rates, settings.decision))
    return progress.verdict_of_rates()


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
