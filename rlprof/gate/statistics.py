"""By how much one side is faster than the other, with bounds that hold whatever the noise looks like.

Wilcoxon's statistics, turned into intervals (Hodges & Lehmann 1963): their distribution, when nothing
but chance tells the sides apart, is known exactly for any number of runs. They ask that pairs do not
depend on each other and that noise treats both sides alike; not that it is normal, and one wild run in
eight moves them little. ``docs/check-figures.md`` has what bootstrap and Student's t do with five pairs instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, combinations_with_replacement, product
from math import comb, hypot, inf, sqrt
from statistics import fmean, median
from typing import Final, NamedTuple

TO_SIGMA: Final = 1.2533
"""Standard deviations of a normal distribution in its mean distance from the median (√(π/2))."""

SMALL_SAMPLE: Final = 0.75
"""That distance comes out low by 1 - 0.75/n, to 3 % for four to 24 normal values (100 000 samples each)."""

EFFICIENCY: Final = 0.955
"""Efficiency of these estimates on normal noise: they need 1/0.955 times the runs that means do (3/π)."""


class Shift(NamedTuple):
    """By how much the logarithm of the rate of head lies above that of base."""

    middle: float
    low: float
    """The true shift is below it with at most the given probability; minus infinity where there
    are too few runs for any such bound."""
    high: float
    noise: float
    """Standard deviation of one pair."""
    spread: float
    """Standard deviation of ``middle``: what this many pairs of the same program come out at."""
    fixed: float = 0.0
    """The part of ``spread`` that more runs of head would not lessen."""


def paired_shift(ratios: Sequence[float], error: float) -> Shift:
    """The shift of pairs, from the logarithm of head over base of each: its signed-rank interval.

    Each of ``low`` and ``high`` is wrong with a probability of at most ``error``.
    """
    averages = sorted((one + other) / 2 for one, other in combinations_with_replacement(ratios, 2))
    noise = deviation(ratios)
    spread = noise / sqrt(EFFICIENCY * len(ratios))
    leave = ranks_to_leave(signed_rank_law(len(ratios)), error)
    return _between(averages, leave, noise, spread)


def unpaired_shift(base: Sequence[float], head: Sequence[float], error: float) -> Shift:
    """The same from logarithms of rates that do not belong together: the rank-sum interval."""
    differences = sorted(now - was for was, now in product(base, head))
    noise = hypot(deviation(base), deviation(head))
    fixed = deviation(base) / sqrt(EFFICIENCY * len(base))
    spread = hypot(fixed, deviation(head) / sqrt(EFFICIENCY * len(head)))
    leave = ranks_to_leave(rank_sum_law(len(base), len(head)), error)
    return _between(differences, leave, noise, spread)._replace(fixed=fixed)


def deviation(values: Sequence[float]) -> float:
    """Standard deviation of ``values``, from their mean distance from the median: a wild one counts, but
    not squared. Infinite for a single value, from which none can be told.
    """
    count = len(values)
    if count < 2:
        return inf
    middle = median(values)
    return (
        TO_SIGMA * fmean(abs(value - middle) for value in values) * count / (count - SMALL_SAMPLE)
    )


def _between(values: Sequence[float], leave: int, noise: float, spread: float) -> Shift:
    if leave == 0:
        return Shift(median(values), -inf, inf, noise, spread)
    return Shift(median(values), values[leave - 1], values[-leave], noise, spread)


def ranks_to_leave(law: Sequence[float], error: float) -> int:
    """Return which of the sorted values, counted from either end, is the bound; 0 when none is."""
    return sum(1 for below in law if below <= error)


@lru_cache(maxsize=64)
def signed_rank_law(count: int) -> tuple[float, ...]:
    """P(W ≤ 0), P(W ≤ 1), … of Wilcoxon's signed-rank statistic of ``count`` pairs."""
    ways = [1]
    for rank in range(1, count + 1):
        without = ways + [0] * rank
        ways = [a + b for a, b in zip(without, [0] * rank + ways, strict=True)]
    return tuple(orders / 2**count for orders in accumulate(ways))


@lru_cache(maxsize=64)
def rank_sum_law(base: int, head: int) -> tuple[float, ...]:
    """P(U ≤ 0), P(U ≤ 1), … of the statistic of Mann and Whitney: how many of head lie below each of base."""
    # ways[h][u]: orders of the runs of base so far and h of head, in which the statistic is u.
    ways = [[1] for _ in range(head + 1)]
    for was in range(1, base + 1):
        rows = [[1]]
        for now in range(1, head + 1):
            # The highest of all is of base, with all of head below it, or it is of head.
            of_base = [0] * now + ways[now]
            of_head = rows[now - 1] + [0] * was
            rows.append([a + b for a, b in zip(of_base, of_head, strict=True)])
        ways = rows
    return tuple(orders / comb(base + head, head) for orders in accumulate(ways[head]))
