"""Memory that a run took, its growth, and the lines that it grew at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FRESH: Final = 0.5
"""Part of the growth for which new addresses must have been asked; less, and memory that was asked
for before is only filled: a replay buffer made by ``np.zeros``."""

TELLING: Final = 1.5
"""Share of growth over share of time from which a line had to do with it; at 1 it just ran."""


@dataclass(frozen=True, slots=True)
class MemoryTrend:
    """The change of a level of memory over the steady phase."""

    bytes_per_hour: float
    """The median of the slopes between all pairs of points (Theil-Sen): a few odd points do not
    move it. Negative where memory was given back."""
    low: float
    """The least of its slopes by part of the phase, in bytes per hour, as ``high`` the greatest."""
    high: float
    grown_bytes: float
    """Over the steady phase, at that slope."""
    is_steady: bool
    """True if it grew in all parts of the phase and did not level off: a buffer that fills up, or
    caches that warm up, would have."""


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """The memory of one process. Resident pages that it shares count in each that shares them."""

    process: int
    role: str
    peak_rss_bytes: float
    """By the kernel's own count, where it tells: no peak between two looks is missed."""
    peak_pss_bytes: float | None
    """Highest seen with shared pages divided by their users; asked for every few seconds only."""
    trend: MemoryTrend | None
    """None where it did not live through the steady phase, or that was too short."""
    virtual_trend: MemoryTrend | None = None
    """Trend of the addresses it asked for. They stand still while a buffer made in one piece fills up."""

    @property
    def growth(self) -> MemoryTrend | None:
        """Its trend where it grows steadily into new addresses; else None."""
        trend, asked = self.trend, self.virtual_trend
        if trend is None or not trend.is_steady:
            return None
        is_new = asked is None or asked.grown_bytes >= FRESH * trend.grown_bytes
        return trend if is_new else None


@dataclass(frozen=True, slots=True)
class GrownLine:
    """A line of the user's on which a growing process was seen after its memory had grown.

    The change since the last look, 10 ms before, is booked on what runs at the look: a line with
    no more of the growth than of the time says only that it was running.
    """

    file: str
    line: int
    function: str
    source: str
    """Its text, stripped; empty where the source is not in the run file."""
    grown_bytes: int
    """Rises less falls, over the run."""
    share_of_growth: float
    share_of_time: float
    """Share of the busy time of the same threads in the steady phase."""

    @property
    def stands_out(self) -> bool:
        """True if it has more of the growth than running alone would give it."""
        return self.share_of_growth >= TELLING * self.share_of_time


@dataclass(frozen=True, slots=True)
class MemoryView:
    """The memory of a run."""

    peak_bytes: float
    """Most of all processes together at one time."""
    is_shared_out: bool
    """True if ``peak_bytes`` counts shared pages once; if not, it is at most so much."""
    processes: tuple[ProcessMemory, ...]
    """The largest first."""
    trend: MemoryTrend | None
    """Trend of the resident memory of all processes together; what they share counts in each."""
    is_growing: bool = False
    """True if so much was taken anew, for so long, that ``trend`` may be told by the hour."""
    bytes_per_step: float | None = None
    """``trend`` per step; None where no steps were counted."""
    lines: tuple[GrownLine, ...] = ()
    """Lines of the processes that grew steadily, or of all where none did. The most grown first."""
    available_bytes: float | None = None
    """Memory that could still be taken at the end of the steady phase, on the machine or in its group."""
