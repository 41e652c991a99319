"""The rate of steps of one run over that of another, and what may explain it besides the program."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, hypot, log
from typing import Final

from rlprof.analysis.scaling import relative_error
from rlprof.comparison.calltree import MIN_EFFECT
from rlprof.model.profile import Interval
from rlprof.model.report import Report

CROWDING_AT_MOST: Final = 1.5
"""Exponent of what waiting for cores explains: crowded caches and waits for processes that wait
themselves come on top. The same programs, run twice on two cores beside a dozen others, were up to
1.2 times as far apart in the logarithm as their waiting alone says."""

_Z_95: Final = 1.96


@dataclass(frozen=True, slots=True)
class RateChange:
    """Steps per second, new over base."""

    ratio: Interval
    """As measured; with what both rates vary in themselves, and nothing else."""
    crowding_ratio: float
    """What other programs on the machine explain of it; 1 for nothing."""
    is_clear: bool
    """Whether it is more than noise, crowding, and ``MIN_EFFECT``."""


def rate_change(base: Report, new: Report) -> RateChange | None:
    """The logarithm of a ratio has the errors of both logarithms (delta method)."""
    was, now = base.throughput.steady_sps, new.throughput.steady_sps
    if not comparable_steps(base, new) or was is None or now is None:
        return None
    ratio = now.median / was.median
    error = _Z_95 * hypot(relative_error(was), relative_error(now))
    # Claimed is what is left of the change, whichever part of its most others explain.
    left = (log(ratio), log(ratio * crowding_between(base, new)))
    least = min(left, key=abs) if left[0] * left[1] > 0 else 0.0
    return RateChange(
        ratio=Interval(ratio, ratio / exp(error), ratio * exp(error)),
        crowding_ratio=(1 + crowding_of(base)) / (1 + crowding_of(new)),
        is_clear=abs(least) - error > log(1 + MIN_EFFECT),
    )


def comparable_steps(base: Report, new: Report) -> bool:
    """Whether both runs have a rate, of the same thing."""
    was, now = base.throughput, new.throughput
    if was.steady_sps is None or now.steady_sps is None or was.unit != now.unit:
        return False
    return was.steady_sps.median > 0 and now.steady_sps.median > 0


def crowding_of(report: Report) -> float:
    """By what part the run's busy time was longer, because others had the cores it was ready to use."""
    use = report.resources
    if use is None or use.used <= 0:
        return 0.0
    return max(0.0, min(use.queued, use.cores - use.used)) / use.used


def crowding_between(base: Report, new: Report) -> float:
    """Times that anything took as long in the new run as in the base, at the most, for other programs."""
    return float(((1 + crowding_of(new)) / (1 + crowding_of(base))) ** CROWDING_AT_MOST)
