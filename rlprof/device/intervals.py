"""Algebra of time intervals: sorted, disjoint (start, end) pairs, in the unit of the caller.

A large trace has hundreds of thousands: lists of them are plain tuples.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple, TypeAlias

Span: TypeAlias = tuple[float, float]
"""(start, end)."""


class TimeSpan(NamedTuple):
    """A span that stands for itself."""

    start: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start


def union(intervals: Iterable[Span]) -> list[Span]:
    """``intervals`` in any order, as sorted and disjoint ones."""
    merged: list[Span] = []
    start = end = None
    for low, high in sorted(intervals):
        if end is None or start is None:
            start, end = low, high
        elif low > end:
            merged.append((start, end))
            start, end = low, high
        elif high > end:
            end = high
    if start is not None and end is not None:
        merged.append((start, end))
    return merged


def gaps(busy: Sequence[Span], span: Span) -> list[Span]:
    """Return what of ``span`` is in none of the disjoint ``busy``."""
    found: list[Span] = []
    at, last = span
    for start, end in busy:
        if start >= last:
            break
        if start > at:
            found.append((at, start))
        if end > at:
            at = end
    if at < last:
        found.append((at, last))
    return found


def common(these: Sequence[Span], those: Sequence[Span]) -> list[Span]:
    """Time that is in both."""
    found: list[Span] = []
    if not these or not those:
        return found
    others = iter(those)
    low, high = next(others)
    for start, end in these:
        while high <= start:
            following = next(others, None)
            if following is None:
                return found
            low, high = following
        while low < end:
            found.append((start if start > low else low, end if end < high else high))
            if high > end:
                break
            following = next(others, None)
            if following is None:
                return found
            low, high = following
    return found


def within(these: Sequence[Span], span: Span) -> Iterator[Span]:
    """Yield what of ``these`` lies in ``span``."""
    first, last = span
    at = bisect_right(these, first, key=itemgetter(1))
    while at < len(these) and these[at][0] < last:
        start, end = these[at]
        yield max(start, first), min(end, last)
        at += 1


def without(these: Sequence[Span], those: Sequence[Span]) -> list[Span]:
    """Time that is in ``these`` and not in ``those``."""
    if not these:
        return []
    return common(these, gaps(those, (these[0][0], these[-1][1])))


def total(intervals: Iterable[Span]) -> float:
    return sum([end - start for start, end in intervals])


class CoveredTime:
    """The part of any span that is inside of disjoint intervals, each question in logarithmic time."""

    def __init__(self, intervals: Sequence[Span]) -> None:
        self._starts = [start for start, _ in intervals]
        self._ends = [end for _, end in intervals]
        self._before = [0.0, *accumulate(end - start for start, end in intervals)]

    def inside(self, start: float, end: float) -> float:
        return max(0.0, self._until(end) - self._until(start)) if end > start else 0.0

    def _until(self, at: float) -> float:
        index = bisect_right(self._starts, at)
        if not index:
            return 0.0
        return self._before[index] - max(0.0, self._ends[index - 1] - at)
