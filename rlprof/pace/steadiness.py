"""Statistics of a rate that settles: where its warm-up ends, and what it settles at."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from operator import mul
from statistics import fmean, median, pvariance, stdev
from typing import Final, NamedTuple

from rlprof.model.profile import Drift, Interval
from rlprof.units import Z_95

FEWEST_FOR_WARM_UP: Final = 8
"""Rates below which a warm-up cannot be told from noise."""

FEWEST_BLOCKS: Final = 6
"""The order-statistic interval of a median needs six values for 95 % (Conover 1999, section 3.2)."""

_BLOCKS_KEPT: Final = 8
"""Blocks are not merged further once merging would leave fewer than this."""

_EDGE: Final = 0.9
"""Part of the first half past which the least standard error is at the edge of the search."""

_STEP: Final = 0.9
"""Part of the variance that the two levels of a step explain; of a straight line they do 0.75."""

_CYCLIC: Final = 0.5
"""Autocorrelation from which on a series goes through a cycle."""

_CLEARLY_HIGHER: Final = 0.05
"""By how much a longer cycle must fit better: two cycles fit as well as one."""

_STUDENT_95: Final = {3: 4.303, 4: 3.182, 5: 2.776}
"""Quantiles of Student's t for so many values."""

_ROUNDING: Final = 1e-18
"""Variance over squared mean that is rounding, not spread."""

_OUTLIER_MADS: Final = 5.0
"""Distance from the median, in median absolute deviations, past which a rate is pulled in."""


LEAST_FALL: Final = 0.05
"""Part of the rate that is lost between the first and the last third of what is called a fall."""

_Z_995: Final = 2.576
_FEWEST_IN_THIRD: Final = 3
"""Blocks below which the median of a third may be an odd one."""

_FEWEST_FOR_FACTORS: Final = 2
"""Blocks of a third that no noise makes twice as quick as those of another."""


class Segment(NamedTuple):
    """Steps made in a stretch of time."""

    length_us: int
    steps: float

    @property
    def per_second(self) -> float:
        return self.steps * 1e6 / self.length_us if self.length_us else 0.0


def warm_up_length(rates: Sequence[float]) -> int:
    """Return how many of the first ``rates`` to leave out as warm-up.

    MSER (White 1997, Simulation 69(6)): the truncation that makes the standard error of the mean
    of the rest least. It has no parameter, and did best of 44 rules in automatic use (Hoad,
    Robinson & Davies 2010). As they advise, a truncation in the second half is not believed, for a
    steady decline gives one too; unless the series is a plain step up, as of a long compilation.
    Outliers, which MSER takes for a warm-up, are pulled in first.
    """
    if len(rates) < FEWEST_FOR_WARM_UP:
        return 0
    errors = _standard_errors(_pull_in_outliers(rates))
    cut = _least(errors[: len(rates) - FEWEST_FOR_WARM_UP + 1])
    half = len(rates) // 2
    if cut > half and not _is_step_up(rates, cut):
        cut = _least(errors[: half + 1])
        # At the edge of what is allowed, the least is not a minimum.
        return cut if cut < _EDGE * half else 0
    return cut


def _standard_errors(rates: Sequence[float]) -> list[float]:
    """Square of the standard error of the mean of what each truncation leaves, for MSER."""
    total = squares = 0.0
    offset = fmean(rates)
    errors = []
    for kept, rate in enumerate(reversed(rates), start=1):
        deviation = rate - offset
        total += deviation
        squares += deviation * deviation
        errors.append(max(0.0, squares - total * total / kept) / (kept * kept))
    errors.reverse()
    # Rounding leaves a trace of spread where there is none at all.
    noise = 1e-12 * max(squares, offset * offset) / len(rates)
    return [error if error > noise else 0.0 for error in errors]


def _least(errors: Sequence[float]) -> int:
    return min(range(len(errors)), key=errors.__getitem__)


def _is_step_up(rates: Sequence[float], cut: int) -> bool:
    """Tell whether a level before ``cut`` and a higher one after explain the series."""
    spread = pvariance(rates) * len(rates)
    left = sum(pvariance(part) * len(part) for part in (rates[:cut], rates[cut:]))
    return left < (1 - _STEP) * spread and fmean(rates[cut:]) > fmean(rates[:cut])


def _pull_in_outliers(rates: Sequence[float]) -> list[float]:
    middle = median(rates)
    reach = _OUTLIER_MADS * median(abs(rate - middle) for rate in rates)
    if reach == 0:
        return list(rates)
    return [min(max(rate, middle - reach), middle + reach) for rate in rates]


def settled_rate(segments: Sequence[Segment], *, spacing_us: int = 0) -> Interval | None:
    """Steps per second of a settled series: median of equally long blocks, with a 95 % interval.

    Neighbours are merged into blocks (batch means) as long as a cycle of the program, so that one
    that collects, then learns, is not judged by the part of the time in which it collects; then
    further, until blocks do not depend on each other. ``spacing_us`` is the time between two
    counts: no block is shorter. ``None`` when there is too little to tell.
    """
    if len(segments) < FEWEST_BLOCKS:
        return _rough_rate(segments)
    rates = [block.per_second for block in _blocks(segments, spacing_us)]
    if len(rates) < FEWEST_BLOCKS:
        return _mean_interval(rates)
    interval = median_interval(rates)
    # However little is known, the rate is none that was never seen.
    seen = [segment.per_second for segment in segments]
    return Interval(interval.median, max(interval.low, min(seen)), min(interval.high, max(seen)))


def median_interval(rates: Sequence[float]) -> Interval:
    """The median of ``rates`` with its 95 % interval from order statistics.

    Ranks by Conover (1999): n/2 ± 1.96 sqrt(n)/2, rounded up. What is left of a positive lag-1
    correlation r makes n values count as n (1 - r) / (1 + r); where that asks for ranks past the
    ends, the distance to the end is stretched in proportion.
    """
    ordered = sorted(rates)
    count = len(ordered)
    middle = median(ordered)
    correlation = _unbiased(lag_one_correlation(rates), count)
    reach = Z_95 * sqrt(count) / 2 * sqrt((1 + correlation) / (1 - correlation))
    stretch = max(1.0, reach / (count / 2))
    low = max(1, ceil(count / 2 - reach))
    high = count + 1 - low
    return Interval(
        middle,
        max(0.0, middle - stretch * (middle - ordered[low - 1])),
        middle + stretch * (ordered[high - 1] - middle),
    )


def _unbiased(correlation: float, count: int) -> float:
    """Lag-1 correlations come out low by (1 + 4 r) / n (Marriott & Pope 1954); 0 to 0.9."""
    return min(0.9, max(0.0, (count * correlation + 1) / (count - 4)))


def _mean_interval(rates: Sequence[float]) -> Interval | None:
    """The mean of a few blocks with its Student interval; ``None`` for fewer than three."""
    if len(rates) < 3:
        return None
    middle = fmean(rates)
    reach = _STUDENT_95[len(rates)] * stdev(rates) / sqrt(len(rates))
    return Interval(middle, max(0.0, middle - reach), middle + reach)


def lag_one_correlation(values: Sequence[float]) -> float:
    """Correlation of each value with the next; 0 for a constant series."""
    deviations, spread = _deviations(values)
    products: float = sum(map(mul, deviations, deviations[1:]))
    return products / spread if spread else 0.0


def _deviations(values: Sequence[float]) -> tuple[list[float], float]:
    """The distance of each value from their mean, and the sum of their squares; 0 for a constant series."""
    mean = fmean(values)
    deviations = [value - mean for value in values]
    spread = sum(deviation * deviation for deviation in deviations)
    return deviations, spread if spread > _ROUNDING * len(values) * mean * mean else 0.0


def drift_of(segments: Sequence[Segment], *, spacing_us: int = 0) -> Drift | None:
    """Rates of the first and the last third of a series; None when it is short.

    By blocks as long as a cycle of the program: of one that collects, then learns, half of the
    windows may hold no step.
    """
    return drift_of_rates([block.per_second for block in _cycles(segments, spacing_us)])


def clear_fall(segments: Sequence[Segment]) -> Drift | None:
    """From what to what the rate fell, if it did by more than its own noise; else ``None``.

    Mann-Kendall on blocks that do not depend on each other, one-sided at 0.5 %, and a fall of at
    least ``LEAST_FALL``: on a long run any trifle is significant.
    """
    change = drift_of(segments)
    if change is None or change.last > (1 - LEAST_FALL) * change.first:
        return None
    falls = _mann_kendall([block.per_second for block in _blocks(segments, 0)]) < -_Z_995
    return change if falls else None


def drift_of_rates(rates: Sequence[float]) -> Drift | None:
    """The same of rates at equal distances. Of few of them only a change by factors is told: any other may be noise."""
    third = len(rates) // 3
    if third < _FEWEST_FOR_FACTORS:
        return None
    drift = Drift(median(rates[:third]), median(rates[-third:]))
    return drift if third >= _FEWEST_IN_THIRD or drift.is_by_factors else None


def _mann_kendall(rates: Sequence[float]) -> float:
    """Standard score of a trend (Mann 1945, Kendall 1975), corrected for continuity."""
    count = len(rates)
    score = sum(
        (later > earlier) - (later < earlier)
        for i, earlier in enumerate(rates)
        for later in rates[i + 1 :]
    )
    spread = sqrt(count * (count - 1) * (2 * count + 5) / 18)
    return (score - (score > 0) + (score < 0)) / spread if spread else 0.0


def _cycles(segments: Sequence[Segment], spacing_us: int) -> list[Segment]:
    """Neighbours joined to equal lengths, as long as a cycle of the program."""
    return _merge(segments, _cycle_length_us(segments, spacing_us))


def _cycle_length_us(segments: Sequence[Segment], spacing_us: int) -> int:
    length = max([spacing_us, *(segment.length_us for segment in segments)], default=0)
    blocks = _merge(segments, length)
    return length * _cycle([block.per_second for block in blocks]) if len(blocks) > 1 else length


def _blocks(segments: Sequence[Segment], spacing_us: int) -> list[Segment]:
    """Cycles joined further until they do not depend on each other."""
    # Of windows without length, which no clock gives, joining would never come to an end.
    length = max(1, _cycle_length_us(segments, spacing_us))
    blocks = _merge(segments, length)
    while len(blocks) // 2 >= _BLOCKS_KEPT and _depend(blocks):
        length *= 2
        blocks = _merge(segments, length)
    return blocks


def _cycle(rates: Sequence[float]) -> int:
    """Length of the cycle that ``rates`` go through, 1 for none.

    The highest peak of the autocorrelation after its first fall below zero, if it is high and
    there are at least three cycles.
    """
    deviations, spread = _deviations(rates)
    if not spread:
        return 1
    fallen = False
    best, cycle = _CYCLIC, 1
    for lag in range(1, len(rates) // 3 + 1):
        products = sum(map(mul, deviations, deviations[lag:]))
        correlation = products / spread * len(rates) / (len(rates) - lag)
        fallen = fallen or correlation < 0
        if fallen and correlation > best:
            best, cycle = correlation + _CLEARLY_HIGHER, lag
    return cycle


def _depend(blocks: Sequence[Segment]) -> bool:
    """Tell whether neighbours are visibly correlated, or some blocks fall between two rollouts."""
    rates = [block.per_second for block in blocks]
    return min(rates) == 0 or abs(lag_one_correlation(rates)) > Z_95 / sqrt(len(rates))


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


def _rough_rate(windows: Sequence[Segment]) -> Interval | None:
    """All steps over all time. The first and the last window may be filled only in part."""
    if len(windows) < 3:
        return None
    steps = sum(window.steps for window in windows)
    length = sum(window.length_us for window in windows)
    edges = windows[0].length_us + windows[-1].length_us
    rate = steps * 1e6 / length
    rates = [rate, *(window.per_second for window in windows)]
    return Interval(rate, min(rates), max(*rates, steps * 1e6 / (length - edges)))
