"""Tell whether a level of memory grows steadily over time, and how fast."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, median
from typing import Final

from rlprof.model.memory import MemoryTrend

BINS: Final = 30
"""Points that a series is reduced to, at equal distances: windows are short at the start of a run
and long later, and the slopes of all pairs of hundreds would take long to sort."""

MIN_IN_A_THIRD: Final = 3
"""Points below which the median of a third of the phase may be an odd one."""

LEVELLING: Final = 0.5
"""Part of the whole slope that each part of the phase must reach to be called steady. A level that
nears a ceiling by half in each third of the time falls short of it, a wavy line does not."""

HOUR_US: Final = 3_600_000_000


def memory_trend(points: Sequence[tuple[int, float]]) -> MemoryTrend | None:
    """The trend of ``points``, (µs, bytes) in order; None where there are too few of them."""
    if len(points) < 2:
        return None
    thirds = _thirds(points)
    if min(map(len, thirds)) < MIN_IN_A_THIRD:
        return None
    every = [point for third in thirds for point in third]
    slope = _theil_sen(every)
    middles = [
        (median(at for at, _ in third), median(level for _, level in third)) for third in thirds
    ]
    parts = [
        _slope(middles[0], middles[1]),
        _slope(middles[1], middles[2]),
        # Or a level that has been reached within the last third would pass for growth.
        _theil_sen(thirds[2]),
    ]
    return MemoryTrend(
        bytes_per_hour=slope * HOUR_US,
        low=min(slope, *parts) * HOUR_US,
        high=max(slope, *parts) * HOUR_US,
        grown_bytes=slope * (points[-1][0] - points[0][0]),
        is_steady=slope > 0 and min(parts) >= LEVELLING * slope,
    )


def _thirds(points: Sequence[tuple[int, float]]) -> list[list[tuple[float, float]]]:
    """The means of equal slices of time, by third of the time; empty slices are left out."""
    start, length = points[0][0], points[-1][0] - points[0][0] + 1
    bins: dict[int, list[tuple[int, float]]] = {}
    for at, level in points:
        bins.setdefault((at - start) * BINS // length, []).append((at, level))
    thirds: list[list[tuple[float, float]]] = [[], [], []]
    for number, found in sorted(bins.items()):
        mean = (fmean(at for at, _ in found), fmean(level for _, level in found))
        thirds[number * 3 // BINS].append(mean)
    return thirds


def _theil_sen(points: Sequence[tuple[float, float]]) -> float:
    """Median slope over all pairs of points (Theil 1950, Sen 1968): up to 29 % of them may be odd."""
    return median(_slope(earlier, later) for earlier, later in combinations(points, 2))


def _slope(earlier: tuple[float, float], later: tuple[float, float]) -> float:
    return (later[1] - earlier[1]) / max(1.0, later[0] - earlier[0])
