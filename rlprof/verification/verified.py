"""A fix that was verified: both programs, what they made in turns, and the promise beside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from rlprof.model.experiment import MeasuredShare
from rlprof.model.profile import Interval
from rlprof.model.recording import Note
from rlprof.verification.promise import Promise, Standing, excess, standing

CONFIDENCE: Final = 0.9
"""Confidence of the interval of a gain: the true one lies below it in at most one of 20, and above it as rarely."""


class VerifiedSide(NamedTuple):
    name: str
    """Commit of base; folder and commit of head."""
    sps: Interval
    """The median of its runs, with the lowest and the highest."""


class VerifiedPair(NamedTuple):
    """Steady rates of two runs."""

    base: float
    head: float

    @property
    def share(self) -> float:
        """Part of the time per step that head saves; negative where it takes longer."""
        return 1 - self.base / self.head


@dataclass(frozen=True, slots=True)
class VerifiedFix:
    measured: datetime
    """Time of its end, in UTC."""
    script: str
    command: tuple[str, ...]
    """Without secrets."""
    unit: str
    """``steps``, or ``updates`` or ``iterations`` where these stand in."""
    promise: Promise
    base: VerifiedSide
    head: VerifiedSide
    pairs: tuple[VerifiedPair, ...]
    got: MeasuredShare
    """Share of the time per step that head saves, with its interval."""
    in_turns: bool = False
    """True if both runs of a pair ran at once, now the one, now the other."""
    notes: tuple[Note, ...] = ()
    file: str = ""
    """The file that it is kept in; empty while there is none."""

    @property
    def standing(self) -> Standing:
        return standing(self.promise.share, self.got)

    @property
    def excess(self) -> float:
        return excess(self.promise.share, self.got)

    @property
    def is_gain(self) -> bool:
        """True if it is clear that head is faster."""
        return self.got.low > 0


def times(share: float) -> float:
    """Return by how many times the rate grows where ``share`` of the time per step is saved."""
    return 1 / max(1e-3, 1 - share)
