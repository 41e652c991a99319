"""Tell what a detector finds, and what pricing makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import sqrt
from typing import Final, NamedTuple

from rlprof.model.profile import Interval, PhaseKind
from rlprof.units import Z_95


class Range(NamedTuple):
    low: float
    high: float

    @classmethod
    def of_share(cls, share: float, samples: float) -> Range:
        """The 95 % score interval of a share (Wilson 1927), which holds for few samples too."""
        z2 = Z_95 * Z_95
        centre = (share + z2 / (2 * samples)) / (1 + z2 / samples)
        half = Z_95 * sqrt(share * (1 - share) / samples + z2 / (4 * samples * samples))
        half /= 1 + z2 / samples
        return cls(max(0.0, centre - half), min(1.0, centre + half))

    def scaled(self, factor: float) -> Range:
        """Both ends times ``factor``."""
        return Range(self.low * factor, self.high * factor)


NOTHING: Final = Range(0.0, 0.0)


class Confidence(Enum):
    """The certainty of a price."""

    TRIED = "tried"
    """The fix, or what it comes to, was switched on and off in turns while the training ran: the price is what was measured."""
    MEASURED = "measured"
    """Samples and at least one more kind of evidence agree on the cause."""
    BOUNDED = "bounded"
    """The cause is known, what the fix leaves is only bounded."""
    SUSPECTED = "suspected"
    """Time is spent there; whether it can be saved is not known."""


@dataclass(frozen=True, slots=True)
class Saving:
    """Nodes whose self time the fix touches, and the part of it that the fix removes."""

    nodes: frozenset[int]
    removable: Range
    """0 to 1: never all, since the replacement costs something too."""


@dataclass(frozen=True, slots=True)
class Remainder:
    """Time that a change of structure leaves: for fixes that do not just remove lines.

    In-process vectorising, fewer workers or fewer threads are priced by the time that the same steps
    would then take, summed from the parts, and not by what the transport between them costs.
    """

    nodes: frozenset[int]
    """Whose time the change replaces, in ``Profile.steady``: no other finding sells it again."""
    left: Range
    """Part of the steady phase's length (``Profile.steady_us``) that the same steps would take."""


@dataclass(frozen=True, slots=True)
class Location:
    """A source line of the user's that a finding points at."""

    file: str
    line: int
    function: str
    share: float
    """Share of the critical time, 0 to 1 (of the run for a start-up finding)."""
    source: str = ""
    """The line's text, stripped; empty when the source is not in the run file."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A bottleneck, not yet priced."""

    detector: str = field(default="", kw_only=True)
    """The id of what found it, from who calls the detectors."""
    title: str
    phase: PhaseKind = field(default=PhaseKind.STEADY, kw_only=True)
    savings: tuple[Saving, ...]
    locations: tuple[Location, ...]
    """The heaviest first."""
    evidence: tuple[str, ...]
    fix: str
    confidence: Confidence = Confidence.MEASURED
    remainder: Remainder | None = None
    """Instead of ``savings``. A finding with neither costs nothing, and says so."""
    tells_rate: bool = True
    """False where nobody can say what rate the fix gives: it changes what is counted, too."""
    counted_share: Interval | None = None
    """Part of the counted steps that it makes and the training does not, where they are in the rate all the same and so many
    that who reads the rate should know; None for nearly all findings."""
    is_general: bool = False
    """True if it tells that work is needless, and not why it takes so long: findings that tell that of the same work are paid before it."""
    slows_rest: Range = NOTHING
    """Part of the remaining time that is saved as well, per part that the fix removes, where what it removes slows all else down by more than is usual."""
    seen_share: float = 0.0
    """Share of the critical time, in all that the finding is about; 0 where its locations say that."""


@dataclass(frozen=True, slots=True)
class PricedFinding:
    """A finding with its price; ``rank`` counts from 1."""

    finding: Finding
    rank: int
    saved_share: Range
    """Share of steady wall time per step that its fix saves by itself; of the whole run for a start-up finding (0 to 1)."""
    sps_after: Range | None
    saved_us: Range
    """Wall time saved over this run (µs)."""
    process_roles: tuple[str, ...]
    counted_in: int | None = None
    """Rank of the listed finding that sells most of this one's time; None where that is its own."""
    besides: Range | None = None
    """The saved share once the dearer findings are fixed; None where their time is another."""
    tried_share: float | None = None
    """Median of what was measured, within ``saved_share``; None for one that is not ``Confidence.TRIED``."""

    @property
    def likely_share(self) -> float:
        """Saved share that is told where one figure is asked for: measured, or such that its rate is the geometric mean of those at
        the ends of ``saved_share``. What a fix leaves is known to a factor, not to a number of points: over 124 pairs of ``docs/accuracy.md``
        the median error is 3.9 points, and 5.0 from the middle.
        """
        if self.tried_share is not None:
            return self.tried_share
        left = [max(0.0, 1 - end) for end in self.saved_share]
        return 1 - sqrt(left[0] * left[1])

    @property
    def added_share(self) -> Range:
        """Share that no dearer finding saves as well: shares of several findings add up by it."""
        return self.saved_share if self.besides is None else self.besides
