"""Algebra of intervals, against counting unit cells."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rlprof.device.intervals import (
    CoveredTime,
    Span,
    common,
    gaps,
    total,
    union,
    within,
    without,
)

SPAN = (0.0, 60.0)
spans = st.tuples(st.integers(0, 60), st.integers(0, 20)).map(
    lambda pair: (float(pair[0]), float(min(60, pair[0] + pair[1])))
)
many = st.lists(spans, max_size=12)


def cells(intervals: list[Span]) -> set[int]:
    return {cell for start, end in intervals for cell in range(int(start), int(end))}


@given(many)
def test_a_union_is_sorted_disjoint_and_keeps_every_cell(intervals):
    merged = union(intervals)

    assert cells(merged) == cells(intervals)
    assert all(before[1] < after[0] for before, after in pairwise(merged))


@given(many)
def test_gaps_and_busy_time_make_the_whole(intervals):
    busy = union(intervals)

    assert cells(gaps(busy, SPAN)) == cells([SPAN]) - cells(busy)
    assert total(busy) + total(gaps(busy, SPAN)) == 60.0


@given(many, many)
def test_common_and_without_split_a_set_in_two(these, those):
    mine, other = union(these), union(those)

    assert cells(common(mine, other)) == cells(mine) & cells(other)
    assert cells(without(mine, other)) == cells(mine) - cells(other)


@given(many, spans)
def test_within_and_measure_agree(intervals, span):
    merged = union(intervals)

    inside = list(within(merged, span))

    assert cells(inside) == cells(merged) & cells([span])
    assert CoveredTime(merged).inside(*span) == sum(end - start for start, end in inside)
