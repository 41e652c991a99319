"""Tell what became of a treatment that was switched on and off while a training ran."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from rlprof.model.finding import Range


class TreatmentKind(Enum):
    """The meaning of what a treatment measures."""

    GAIN = "gain"
    """The program's results stay as they are: this is what the fix saves."""
    CEILING = "ceiling"
    """Results change (calls left out, answers from memory): this is the most that any fix of it could save."""


class TryOutcome(Enum):
    """The end of an experiment."""

    MEASURED = "measured"
    NOT_CLEAR = "not-clear"
    """The budget was spent before the interval was narrow enough."""
    NOT_REACHED = "not-reached"
    """There was nothing to treat while it was on."""
    REFUSED = "refused"
    """It could not be applied exactly, so it was not applied; the note says why."""
    WITHDRAWN = "withdrawn"
    """A treated call failed: it was made again untreated, and the treatment was taken away."""
    CUT_SHORT = "cut-short"
    """The training, or rlprof, ended in the middle of it."""


class MeasuredShare(NamedTuple):
    """Saved share of the wall time per step: median of pairs, and its 90 % interval (Wilcoxon's signed ranks)."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Experiment:
    """A treatment and what it has measured; one row of the run file's table ``experiment``."""

    finding: str
    """The id of the detector whose finding it tries; empty for a treatment that the user gave."""
    file: str
    line: int
    function: str
    """Heaviest location of that finding, or the place of the user's treatment."""
    treatment: str
    """Its id; ``docs/treatments/<id>.md`` is its page."""
    kind: TreatmentKind
    outcome: TryOutcome
    predicted: Range | None
    """Saved share as samples priced it; None for a treatment that the user gave."""
    measured: MeasuredShare | None
    """None unless the outcome is ``measured`` or ``not-clear``."""
    pairs: int
    """Pairs of slots, one with and one without the treatment."""
    slot_s: float
    """Length of a slot, the longest that was used."""
    seconds: float
    """Wall time that the experiment took."""
    note: str
    """A sentence for the user: why it was refused, what the machine did meanwhile; empty for none."""
