"""Sentences that tell how a try goes on."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, prod

from rlprof.errors import MeasureError, UsageError
from rlprof.experiments.plan import PlannedFinding, PlannedOption
from rlprof.model.experiment import Experiment, MeasuredShare, TreatmentKind, TryOutcome
from rlprof.report.wording.experiments import as_times

TOGETHER = "all-together"
"""In place of the id of a treatment: all those that gained something, at once."""


def begins(
    planned: Sequence[PlannedFinding], restarts: Sequence[PlannedFinding], budget_s: float
) -> str:
    # Some are tried in both ways.
    in_both = {each.rank for each in planned} & {each.rank for each in restarts}
    count = len(planned) + len(restarts) - len(in_both)
    by_runs = f", {len(restarts)} of them by runs of their own" if restarts else ""
    return f"the training is steady: {count} finding{'s' if count != 1 else ''} to try{by_runs}, in {budget_s:g} s at most"


def tries(planned: PlannedFinding, option: PlannedOption) -> str:
    return f"tries {_name(planned)}: {option.does}"


def not_tried(planned: PlannedFinding) -> str:
    return f"does not try {_name(planned)}: {planned.refusal}"


def takes_own_runs(planned: PlannedFinding) -> str:
    return f"does not try {_name(planned)}: it takes runs of its own, which `rlprof try` makes without --keep-going"


def no_time_for(findings: Sequence[PlannedFinding]) -> str:
    return f"the budget is spent (--budget), and not tried: {', '.join(map(_name, findings))}"


def tried(experiment: Experiment) -> str:
    measured = experiment.measured
    name = experiment.finding or _own(experiment.treatment, experiment.file, experiment.function)
    if experiment.outcome is TryOutcome.MEASURED and measured is not None:
        upto = "at most " if experiment.kind is TreatmentKind.CEILING else ""
        told = f"{upto}{times(measured)}, {experiment.pairs} pairs in {experiment.seconds:.0f} s"
        if experiment.predicted is not None:
            low, high = experiment.predicted
            told += f"; samples told {_times(low)} to {_times(high)}"
    else:
        told = experiment.outcome.value.replace("-", " ")
        if measured is not None:
            told += f": {times(measured)}, {experiment.pairs} pairs in {experiment.seconds:.0f} s"
    return f"{name}: {told}" + (f" ({experiment.note})" if experiment.note else "")


def times(measured: MeasuredShare) -> str:
    return f"{_times(measured.median)} ({_times(measured.low)} to {_times(measured.high)})"


def _times(saved: float) -> str:
    return f"{as_times(saved)}×"


def pair_of_runs(number: int, log_ratio: float) -> str:
    return f"  pair {number}: {exp(log_ratio):.2f}× as fast treated"


NOTHING_TO_TREAT = "a treated run had nothing to treat"


def too_few_pairs(pair_s: float, least: int) -> str:
    """Return why a try by runs was not gone on with."""
    return (
        f"a pair of runs takes {pair_s:.0f} s, and an interval takes {least}: "
        f"--budget {least * pair_s + 30:.0f}s is enough"
    )


def by_runs(*, in_turns: bool) -> str:
    """A note on a try by runs."""
    return "by runs that took turns" if in_turns else "by runs one after the other"


def ends_training() -> str:
    return "all is measured; ends the training (--keep-going lets it train on)"


def waits_for_its_end() -> str:
    """Tell of a training that may ignore what asks it to end."""
    return "the training was told to end and goes on: nothing is tried any more, and rlprof waits for it (kill -KILL ends it)"


def together(held: Sequence[tuple[PlannedFinding, PlannedOption]]) -> PlannedFinding:
    """All treatments that gained something, as one."""
    parts = [part for _, option in held for part in option.parts]
    low = 1 - prod(1 - planned.low for planned, _ in held)
    high = 1 - prod(1 - planned.high for planned, _ in held)
    option = PlannedOption(
        TOGETHER, f"all {len(held)} that gained something", TreatmentKind.GAIN.value, parts
    )
    return PlannedFinding("", 0, "", "", 0, "", low, high, [option])


def _name(planned: PlannedFinding) -> str:
    treatment = planned.options[0].treatment if planned.options else ""
    name = planned.finding or _own(treatment, planned.file, planned.function)
    return f"{name} ({planned.place})" if planned.place else name


def _own(treatment: str, module: str, function: str) -> str:
    """A treatment of the user's, of which there may be several."""
    return f"{treatment} {module}:{function}" if function else treatment


def nothing_counted() -> MeasureError:
    return MeasureError(
        "nothing counts the steps of this program, so no rate can be compared",
        slug="try-counts-nothing",
        hint="give --steps-from MODULE:FUNCTION, or call rlprof.step() where your program makes one",
    )


def counts_too_seldom(seconds: float) -> MeasureError:
    return MeasureError(
        f"the program counted too few steps in {seconds:g} s to compare rates",
        slug="try-counts-seldom",
        hint="give --steps-from MODULE:FUNCTION for something that is called more often",
    )


def ended_too_early() -> MeasureError:
    return MeasureError(
        "the training ended before its steady phase had begun, or was long enough",
        slug="try-ended-early",
        hint="let it train for longer: a try takes 10 s of steady training and 10 to 30 s for each finding",
    )


def stopped_too_early() -> MeasureError:
    return MeasureError(
        "the training was stopped before its steady phase had begun, or was long enough: nothing was tried",
        slug="try-stopped-early",
        hint="let it train on the next time: a try takes 10 s of steady training and 10 to 30 s for each finding, and ends it by itself",
    )


def training_failed(exit_code: int) -> MeasureError:
    return MeasureError(
        f"the training ended with exit code {exit_code} before all was tried",
        slug="try-training-failed",
        hint="see what it printed; if it trains on under `rlprof run`, a treatment was at fault: please report it",
    )


def own_untried(experiments: Sequence[Experiment]) -> MeasureError:
    """None of the treatments that the user gave could be applied."""
    why = "; ".join(
        f"{_own(each.treatment, each.file, each.function)}: {each.outcome.value.replace('-', ' ')} ({each.note})"
        for each in experiments
    )
    return MeasureError(
        f"nothing of what was asked for could be tried: {why}",
        slug="own-untried",
        hint="name functions as the program imports them: --skip my_pkg.mod:Learner.publish, of the script itself train:publish",
    )


def no_such_finding(wanted: str, findings: Sequence[PlannedFinding]) -> UsageError:
    there = (
        ", ".join(f"{planned.rank or ''} {planned.finding}".strip() for planned in findings)
        or "none"
    )
    return UsageError(
        f"there is no finding {wanted} in this training",
        slug="no-such-finding",
        hint=f"its findings are: {there}",
    )
