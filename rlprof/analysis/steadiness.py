"""Statistics of a rate that settles: where its warm-up ends, and what it settles at."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, sqrt
from statistics import fmean, median
from typing import Final, NamedTuple

from rlprof.model.profile import Interval

FEWEST_FOR_WARM_UP: Final = 8
"""Rates below which a warm-up cannot be told from noise."""

FEWEST_BLOCKS: Final = 6
"""The order-statistic interval of a median needs six values for 95 % (Conover 1999, section 3.2)."""

_BLOCKS_KEPT: Final = 8
"""Blocks are not merged further once merging would leave fewer than this."""

_Z_95: Final = 1.96
_OUTLIER_MADS: Final = 5.0
"""Distance from the median, in median absolute deviations, past which a rate is pulled in."""


class Segment(NamedTuple):
    """Steps made in a stretch of time."""

    length_us: int
    steps: float

    @property
    def per_second(self) -> float:
        return self.steps * 1e6 / self.length_us if self.length_us else 0.0


def warm_up_length(rates: Sequence[float]) -> int:
    """How many of the first ``rates`` to leave out as warm-up.

    MSER (White 1997, Simulation 69(6)): the truncation that makes the standard error of the mean of
    the rest least; chosen because it has no parameter, and came out best of 44 rules for
    automatic use (Hoad, Robinson & Davies 2010). Its two weaknesses are met here: outliers are
    pulled in first, and a truncation in the second half, which means that the data do not
    settle there, is looked for again in that half alone. A series that never settles, such as
    a steady decline, has no warm-up.
    """
    start = 0
    while len(rates) - start >= FEWEST_FOR_WARM_UP:
        rest = _pull_in_outliers(rates[start:])
        cut = _least_standard_error(rest)
        if cut <= 0.45 * len(rest):
            return start + cut
        start += len(rest) // 2
    return 0


def _least_standard_error(rates: Sequence[float]) -> int:
    """The MSER truncation, at most half of ``rates``; the shortest among equals."""
    total = squares = 0.0
    offset = fmean(rates)
    errors = []
    for kept, rate in enumerate(reversed(rates), start=1):
        deviation = rate - offset
        total += deviation
        squares += deviation * deviation
        errors.append(max(0.0, squares - total * total / kept) / (kept * kept))
    errors.reverse()
    # Rounding leaves about 1e-16 of the squares where there is no spread at all.
    ties = 1e-12 * max(squares, offset * offset) / len(rates)
    best = min(errors[: len(rates) // 2 + 1])
    return next(i for i, error in enumerate(errors) if error <= best + ties)


def _pull_in_outliers(rates: Sequence[float]) -> list[float]:
    middle = median(rates)
    reach = _OUTLIER_MADS * median(abs(rate - middle) for rate in rates)
    if reach == 0:
        return list(rates)
    return [min(max(rate, middle - reach), middle + reach) for rate in rates]


def settled_rate(segments: Sequence[Segment], *, spacing_us: int = 0) -> Interval | None:
    """Steps per second of a settled series: median of equally long blocks, with a 95 % interval.

    Neighbours are merged into blocks until blocks no longer depend on each other (batch means),
    so that a program that collects, then learns, is not judged by the half of the time in
    which it collects. The interval is that of order statistics. ``spacing_us`` is the time
    between two counts: no block is shorter. ``None`` when there is too little to tell.
    """
    blocks = _blocks(segments, spacing_us)
    rates = [block.per_second for block in blocks]
    if len(rates) < FEWEST_BLOCKS:
        return _rough_rate(blocks)
    return median_interval(rates)


def median_interval(rates: Sequence[float]) -> Interval:
    """The median of ``rates`` with its 95 % interval from order statistics.

    Ranks by Conover (1999): n/2 ± 1.96 sqrt(n)/2, rounded up; what is left of a positive lag-1
    correlation r makes n values count as n (1 - r) / (1 + r).
    """
    ordered = sorted(rates)
    count = len(ordered)
    correlation = min(0.99, max(0.0, lag_one_correlation(rates)))
    widening = sqrt((1 + correlation) / (1 - correlation))
    reach = _Z_95 * sqrt(count) / 2 * widening
    low = max(1, ceil(count / 2 - reach))
    high = min(count, count + 1 - low)
    return Interval(median(ordered), ordered[low - 1], ordered[high - 1])


def lag_one_correlation(values: Sequence[float]) -> float:
    """Correlation of each value with the next; 0 for a constant series."""
    mean = fmean(values)
    deviations = [value - mean for value in values]
    spread = sum(deviation * deviation for deviation in deviations)
    if spread <= 1e-18 * len(values) * mean * mean or spread == 0:
        return 0.0
    return sum(a * b for a, b in pairwise(deviations)) / spread


def drift(rates: Sequence[float]) -> float:
    """Last third over first third of a series, by medians, minus 1; 0 when it is short."""
    third = len(rates) // 3
    first = median(rates[:third]) if third >= 3 else 0.0
    return median(rates[-third:]) / first - 1 if first > 0 else 0.0


def _blocks(segments: Sequence[Segment], spacing_us: int) -> list[Segment]:
    length = max([spacing_us, *(segment.length_us for segment in segments)], default=0)
    blocks = _merge(segments, length)
    while len(blocks) // 2 >= _BLOCKS_KEPT and _depend(blocks):
        length *= 2
        blocks = _merge(segments, length)
    return blocks


def _depend(blocks: Sequence[Segment]) -> bool:
    """Whether neighbours are visibly correlated, or some blocks fall between two rollouts."""
    rates = [block.per_second for block in blocks]
    return min(rates) == 0 or abs(lag_one_correlation(rates)) > _Z_95 / sqrt(len(rates))


def _merge(segments: Sequence[Segment], length_us: int) -> list[Segment]:
    """Neighbours joined to blocks of at least ``length_us``; a short rest joins the last block."""
    blocks: list[Segment] = []
    length, steps = 0, 0.0
    for segment in segments:
        length += segment.length_us
        steps += segment.steps
        if length >= length_us:
            blocks.append(Segment(length, steps))
            length, steps = 0, 0.0
    if length and blocks:
        last = blocks.pop()
        blocks.append(Segment(last.length_us + length, last.steps + steps))
    return blocks


def _rough_rate(blocks: Sequence[Segment]) -> Interval | None:
    """All steps over all time. The first and the last block may be filled only in part."""
    if len(blocks) < 3:
        return None
    steps = sum(block.steps for block in blocks)
    length = sum(block.length_us for block in blocks)
    edges = blocks[0].length_us + blocks[-1].length_us
    rates = [block.per_second for block in blocks]
    rate = steps * 1e6 / length
    return Interval(rate, min(rate, *rates), max(*rates, steps * 1e6 / (length - edges)))
