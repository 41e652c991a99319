"""Algebra of time intervals: sorted, disjoint (start, end) pairs, in the unit of the caller."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple


class Interval(NamedTuple):
    start: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start


def union(intervals: Iterable[tuple[float, float]]) -> list[Interval]:
    """``intervals`` in any order, as sorted and disjoint ones."""
    merged: list[Interval] = []
    start = end = None
    for low, high in sorted(intervals):
        if end is None or start is None:
            start, end = low, high
        elif low > end:
            merged.append(Interval(start, end))
            start, end = low, high
        elif high > end:
            end = high
    if start is not None and end is not None:
        merged.append(Interval(start, end))
    return merged


def gaps(busy: Sequence[Interval], span: Interval) -> list[Interval]:
    """What of ``span`` is in none of the disjoint ``busy``."""
    found = []
    at = span.start
    for start, end in busy:
        if start >= span.end:
            break
        if start > at:
            found.append(Interval(at, start))
        at = max(at, end)
    if at < span.end:
        found.append(Interval(at, span.end))
    return found


def common(these: Sequence[Interval], those: Sequence[Interval]) -> list[Interval]:
    """Time that is in both."""
    found = []
    i = j = 0
    while i < len(these) and j < len(those):
        start, end = max(these[i].start, those[j].start), min(these[i].end, those[j].end)
        if start < end:
            found.append(Interval(start, end))
        if these[i].end < those[j].end:
            i += 1
        else:
            j += 1
    return found


def within(these: Sequence[Interval], span: Interval) -> Iterator[Interval]:
    """Yield what of ``these`` lies in ``span``."""
    at = bisect_right(these, span.start, key=attrgetter("end"))
    while at < len(these) and these[at].start < span.end:
        yield Interval(max(these[at].start, span.start), min(these[at].end, span.end))
        at += 1


def without(these: Sequence[Interval], those: Sequence[Interval]) -> list[Interval]:
    """Time that is in ``these`` and not in ``those``."""
    if not these:
        return []
    return common(these, gaps(those, Interval(these[0].start, these[-1].end)))


def total(intervals: Iterable[Interval]) -> float:
    return sum(end - start for start, end in intervals)


class Measure:
    """How much of any span is inside of disjoint intervals, each question in logarithmic time."""

    def __init__(self, intervals: Sequence[Interval]) -> None:
        self._starts = [it.start for it in intervals]
        self._ends = [it.end for it in intervals]
        self._before = [0.0, *accumulate(it.length for it in intervals)]

    def inside(self, start: float, end: float) -> float:
        return max(0.0, self._until(end) - self._until(start)) if end > start else 0.0

    def _until(self, at: float) -> float:
        index = bisect_right(self._starts, at)
        if not index:
            return 0.0
        return self._before[index] - max(0.0, self._ends[index - 1] - at)
