"""Tell what became of a treatment once it has been tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rlprof.experiments.plan import PlannedFinding, PlannedOption
from rlprof.experiments.trying import TreatmentTry, TryEnd
from rlprof.experiments.turns import is_clear
from rlprof.model.experiment import Experiment, MeasuredShare, TreatmentKind, TryOutcome
from rlprof.model.finding import Range
from rlprof.recording.experimenting import Bench, CpuTimes

OTHERS: Final = 0.25
"""Cores that other programs use during an experiment, from which on that is told."""

MUCH: Final = 0.2
"""Part of the time that samples told at least, from which on it is doubtful that there is nothing to gain."""

LITTLE: Final = 0.1
"""Part that was saved at most, below which next to nothing was."""

MOST_TREATED: Final = 0.3
"""Part of a slot that a ceiling's treatment may take itself. Stage 2 of the bandit example spends 3 µs of its 7 µs in a function that took 8 µs to be
answered: it was told 0.12 and is worth 0.44 (2026-11-28). ``log_each_step`` of the accuracy set, with 0.14, is right."""

_DEAR: Final = "to leave the calls out takes about as long as to make them"


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A treatment while it is tried."""

    planned: PlannedFinding
    option: PlannedOption
    others: tuple[PlannedOption, ...]
    """Treatments to try if nobody comes to the place of this one."""
    trying: TreatmentTry
    cpu: CpuTimes


def experiment_of(under_way: UnderWay, ended: TryEnd, now_s: float, others: str) -> Experiment:
    """Return what is kept of a treatment that has ended; ``others`` is a note on other programs, or empty."""
    planned, option, turns = under_way.planned, under_way.option, under_way.trying.turns
    measured: MeasuredShare | None = None
    outcome = ended.outcome
    if outcome is TryOutcome.CUT_SHORT and turns.measured is not None:
        outcome = TryOutcome.MEASURED if is_clear(turns.measured) else TryOutcome.NOT_CLEAR
    if outcome in (TryOutcome.MEASURED, TryOutcome.NOT_CLEAR):
        measured = _of_all_calls(turns.measured, option.leaves)
        outcome = TryOutcome.NOT_CLEAR if measured is None else outcome
    kind = TreatmentKind(option.kind)
    is_dear = kind is TreatmentKind.CEILING and under_way.trying.treated_share > MOST_TREATED
    if is_dear and outcome is TryOutcome.MEASURED:
        outcome = TryOutcome.NOT_CLEAR
    return Experiment(
        finding=planned.finding,
        file=planned.file,
        line=planned.line,
        function=planned.function,
        treatment=option.treatment,
        kind=kind,
        outcome=outcome,
        predicted=Range(planned.low, planned.high) if planned.high else None,
        measured=measured,
        pairs=turns.pairs,
        slot_s=turns.longest_s,
        seconds=now_s - under_way.trying.begun_s,
        note="; ".join(
            filter(
                None,
                (
                    ended.why,
                    _DEAR if is_dear else _doubt(planned, option, outcome, measured),
                    others,
                ),
            )
        ),
    )


def _doubt(
    planned: PlannedFinding,
    option: PlannedOption,
    outcome: TryOutcome,
    measured: MeasuredShare | None,
) -> str:
    """Return a note where a gain saves next to nothing of what samples told for certain."""
    is_gain = option.kind == TreatmentKind.GAIN.value and outcome is TryOutcome.MEASURED
    if is_gain and measured is not None and planned.low >= MUCH and measured.high < LITTLE:
        return "the treatment may not have reached all of it"
    return ""


def _of_all_calls(measured: MeasuredShare | None, leaves: float) -> MeasuredShare | None:
    """Return what would have been saved had all calls been left out, and not all but a part of them."""
    if measured is None or not leaves:
        return measured
    return MeasuredShare(*(min(1.0, share / (1 - leaves)) for share in measured))


def told_of_others(before: CpuTimes, bench: Bench, now_s: float, begun_s: float) -> str:
    """Return a note on the cores that other programs used since ``begun_s``; empty where they used few."""
    now = bench.cpu_times()
    if now.of_run < before.of_run:
        return ""  # A process of the run is gone, and with it what it used.
    passed_s = max(now_s - begun_s, 1e-3)
    others = (now.of_host - before.of_host - (now.of_run - before.of_run)) / passed_s
    return f"other programs used {others:.1f} cores meanwhile" if others >= OTHERS else ""


def has_held(experiment: Experiment) -> bool:
    """Tell whether it gained something, for certain."""
    measured = experiment.measured
    return (
        experiment.outcome is TryOutcome.MEASURED
        and experiment.kind is TreatmentKind.GAIN
        and measured is not None
        and measured.low > 0
    )
