"""The pace of a program between two moments, read off what it has counted up to each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, median
from typing import Final, NamedTuple

from rlprof.model.calibration import calibrated

_LONG: Final = calibrated(
    5.0,
    unit="times the usual time between two counts",
    source="rollouts of Stable-Baselines3's PPO count every 0.2 to 3 ms and pause for updates of 0.1 to 3 s; counts of one "
    "environment in Python vary up to threefold",
    date="2026-11-27",
)
"""A pause from which on it may be the gap between two cycles of work."""

_LONG_SHARE: Final = 0.05
"""Part of the time that long pauses take together, from which on cycles are what work is made of."""

_FEW_CYCLES: Final = 3
"""Long pauses that have been seen, below which there are no cycles to tell."""

_REGULAR: Final = 0.3
"""Part of their mean length by which cycles differ from it, in the mean; episodes that end by chance differ by more."""


_MOST_TREATED: Final = 0.9
"""Part of a slot that a treatment may have taken: more is a clock that jumped."""


class StepTotal(NamedTuple):
    """All steps up to a moment."""

    at_s: float
    total: int
    queued_s: float = 0.0
    """Time up to here in which the program was ready to run and had no core."""
    treated_s: float = 0.0
    """Time that a treatment itself and counting have taken, of the process in which they took the most."""

    def own_s_since(self, earlier: StepTotal) -> float:
        """Return the time since ``earlier`` without that, which other programs make."""
        return self.at_s - earlier.at_s - (self.queued_s - earlier.queued_s)


class Rhythm(NamedTuple):
    """The rhythm in which a program works."""

    unit_s: float
    """Time between two counts, in the median; between the ends of two long pauses where it works in cycles."""
    pause_s: float
    """A pause this long ends a cycle; 0 where it works without."""

    @property
    def has_cycles(self) -> bool:
        return self.pause_s > 0

    @property
    def without_cycles(self) -> Rhythm:
        """The same where any count is the beginning of a unit of work."""
        return self._replace(pause_s=0.0)


@dataclass
class CountLog:
    """The moments at which a counter was seen to have changed, in order."""

    counts: list[StepTotal] = field(default_factory=list)

    def add(self, count: StepTotal) -> None:
        if not self.counts or count.total > self.counts[-1].total:
            self.counts.append(count)

    def rhythm(self, begun_s: float) -> Rhythm | None:
        """That since ``begun_s``; None where too little was counted to tell."""
        return rhythm_of(self.counts[bisect_left(self.counts, (begun_s, -1)) :])

    def boundary(self, after_s: float, rhythm: Rhythm) -> StepTotal | None:
        """Return the first moment at ``after_s`` or later at which a unit of work begins, with all that was counted up to it.

        Any count is one, but where there are cycles: there it is the first after a long pause.
        """
        first = bisect_left(self.counts, (after_s, -1))
        if not rhythm.has_cycles:
            return self.counts[first] if first < len(self.counts) else None
        for earlier, later in pairwise(self.counts[max(0, first - 1) :]):
            if later.at_s >= after_s and later.own_s_since(earlier) >= rhythm.pause_s:
                return later
        return None


def rhythm_of(counts: Sequence[StepTotal]) -> Rhythm | None:
    """The rhythm of ``counts``; None where they are too few to tell."""
    if len(counts) < _FEW_CYCLES + 2:
        return None
    pauses = [later.own_s_since(earlier) for earlier, later in pairwise(counts)]
    usual_s = median(pauses)
    long = sorted(pause for pause in pauses if pause >= _LONG * usual_s)
    whole_s = counts[-1].own_s_since(counts[0])
    if len(long) >= _FEW_CYCLES and sum(long) >= _LONG_SHARE * whole_s:
        # The longest kind alone: between updates there may be pauses for single episodes.
        pause_s = max(_LONG * usual_s, 0.5 * median(long[-_FEW_CYCLES:]))
        ends = [later for pause, later in zip(pauses, counts[1:], strict=True) if pause >= pause_s]
        cycles = [later.own_s_since(earlier) for earlier, later in pairwise(ends)]
        if len(ends) >= _FEW_CYCLES and _are_regular(cycles):
            return Rhythm(fmean(cycles), pause_s)
    return Rhythm(usual_s, 0.0)


def _are_regular(lengths: Sequence[float]) -> bool:
    mean = fmean(lengths)
    return fmean(abs(length - mean) for length in lengths) <= _REGULAR * mean


def rate_between(begun: StepTotal, ended: StepTotal, *, leaves_queue_out: bool) -> float | None:
    """Steps per second from one boundary to another; None where they are one.

    ``leaves_queue_out``: the time without a core does not count. Other programs make it, and they do not wait for a slot to end. Nor does the
    time that the treatment itself takes: a call that is left out costs nothing.
    """
    took_s = ended.own_s_since(begun) if leaves_queue_out else ended.at_s - begun.at_s
    took_s -= min(ended.treated_s - begun.treated_s, _MOST_TREATED * took_s)
    if took_s <= 0 or ended.total <= begun.total:
        return None
    return (ended.total - begun.total) / took_s
