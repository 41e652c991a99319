"""Rates of steps: of runs that repeat each other, and of one run over another with what may explain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, hypot, log, sqrt
from statistics import median
from typing import Final

from rlprof.model.profile import Interval
from rlprof.pace.scaling import relative_error
from rlprof.units import Z_95

MIN_EFFECT: Final = 0.05
"""Relative change that is never claimed from one run a side: the same program started again differs
by as much in how its code and data happen to lie in memory."""

CROWDING_AT_MOST: Final = 1.5
"""Exponent of what waiting for cores explains: crowded caches, and waits for processes that wait
themselves, come on top of the waiting that is measured."""


@dataclass(frozen=True, slots=True)
class RateChange:
    """Steps per second, new over base."""

    ratio: Interval
    """As measured; with what both rates vary in themselves, and nothing else."""
    crowding_ratio: float
    """Ratio that other programs on the machine explain; 1 for nothing."""
    is_clear: bool
    """True if it is more than noise, crowding, and ``MIN_EFFECT``."""


def change_of_rate(
    was: Interval, now: Interval, *, crowding_then: float, crowding_now: float
) -> RateChange:
    """Compare rates above zero. The logarithm of a ratio has the errors of both logarithms (delta method)."""
    ratio = now.median / was.median
    error = Z_95 * hypot(relative_error(was), relative_error(now))
    # Claimed is what is left of the change, whichever part of its most others explain.
    left = (log(ratio), log(ratio * explained_by_crowding(crowding_then, crowding_now)))
    least = min(left, key=abs) if left[0] * left[1] > 0 else 0.0
    return RateChange(
        ratio=Interval(ratio, ratio / exp(error), ratio * exp(error)),
        crowding_ratio=(1 + crowding_then) / (1 + crowding_now),
        is_clear=abs(least) - error > log(1 + MIN_EFFECT),
    )


def crowding(*, available: float, used: float, queued: float) -> float:
    """By what part a run's busy time was longer, because others had the cores it was ready to use.

    All three in cores, or all in core time.
    """
    return max(0.0, min(queued, available - used)) / used if used > 0 else 0.0


def explained_by_crowding(then: float, now: float) -> float:
    """Times that anything took as long now as it took then, at the most, for other programs."""
    return float(((1 + now) / (1 + then)) ** CROWDING_AT_MOST)


def pooled(rates: Sequence[Interval]) -> Interval:
    """The rate over repeated runs: their median, with a range that holds all of them.

    The range is not narrower than what the runs' own ranges say of a mean of so many: two runs
    agree by chance too.
    """
    medians = [rate.median for rate in rates]
    middle = median(medians)
    below = median(rate.low / rate.median for rate in rates)
    above = median(rate.high / rate.median for rate in rates)
    of_mean = 1 / sqrt(len(rates))
    return Interval(
        median=middle,
        low=min([*medians, middle * below**of_mean]),
        high=max([*medians, middle * above**of_mean]),
    )
