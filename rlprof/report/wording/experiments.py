"""Experiments in words: what each treatment was said to save, and what it saved."""

from __future__ import annotations

from typing import Final, NamedTuple

from rlprof.model.experiment import Experiment, TreatmentKind, TryOutcome
from rlprof.model.finding import Confidence, PricedFinding
from rlprof.model.report import Report
from rlprof.names import printable, short_line
from rlprof.pricing.ranking import times_as_fast
from rlprof.report import wording
from rlprof.units import rough_duration

_OTHER_OUTCOMES: Final = {
    TryOutcome.NOT_CLEAR: "not clear",
    TryOutcome.NOT_REACHED: "not reached",
    TryOutcome.REFUSED: "refused",
    TryOutcome.WITHDRAWN: "withdrawn",
    TryOutcome.CUT_SHORT: "cut short",
}

ABOUT: Final = (
    "Shares of steady time that were saved while the treatment was on, each with its 90 % interval. "
    "A gain leaves the program's results as they are; a ceiling changes them, so no fix saves more."
)

_NOTE_LIMIT: Final = 240
_PLACE_LIMIT: Final = 60


class TriedRow(NamedTuple):
    """An experiment as a row of a table."""

    tried: str
    """The finding's id, or the treatment that the user gave."""
    how: str
    """``every-nth-call at train.py:24``; the place alone for a treatment of the user's."""
    kind: str
    predicted: str
    measured: str
    """The best guess, or how else it ended."""
    interval: str
    pairs: str
    seconds: str
    note: str


def tried_rows(report: Report) -> list[TriedRow]:
    return [_row(experiment, report) for experiment in report.experiments]


def _row(experiment: Experiment, report: Report) -> TriedRow:
    treatment = printable(experiment.treatment)
    if not experiment.line:  # The place of a user's treatment: a module and a name in it.
        place = printable(f"{experiment.file}:{experiment.function}") if experiment.file else ""
    else:
        place = f"at {short_line(experiment.file, experiment.line, report.run.cwd, _PLACE_LIMIT)}"
    predicted, measured = experiment.predicted, experiment.measured
    return TriedRow(
        tried=printable(experiment.finding) or treatment,
        how=" ".join(part for part in (treatment if experiment.finding else "", place) if part),
        kind=experiment.kind.value,
        predicted="" if predicted is None else wording.share_range(predicted),
        measured=_measured(experiment),
        interval="" if measured is None else f"({wording.percents(measured.low, measured.high)})",
        pairs=wording.count(experiment.pairs),
        seconds=rough_duration(experiment.seconds * 1e6),
        note=printable(experiment.note, _NOTE_LIMIT),
    )


def _measured(experiment: Experiment) -> str:
    """``40 %``, ``at most 40 %``, ``not clear``, ``refused``."""
    if experiment.outcome is not TryOutcome.MEASURED or experiment.measured is None:
        return _OTHER_OUTCOMES[experiment.outcome]
    share = wording.percent(experiment.measured.median)
    return f"at most {share}" if experiment.kind is TreatmentKind.CEILING else share


def measured_times(priced: PricedFinding) -> str:
    """``measured: 1.66× (1.61 to 1.70)``; empty for a finding that was not tried."""
    share = priced.tried_share
    if priced.finding.confidence is not Confidence.TRIED or share is None:
        return ""
    low, median, high = map(as_times, (priced.saved_share.low, share, priced.saved_share.high))
    return f"measured: {median}× ({wording.ends(low, high)})"


def as_times(saved: float) -> str:
    """Return how many times as fast, where so much of the time was measured to go: ``1.66``, ``1 245``."""
    times = times_as_fast(saved)
    return f"{times:.2f}" if times < 100 else wording.count(times)
