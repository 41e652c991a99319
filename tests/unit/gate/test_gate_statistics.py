"""Intervals of Wilcoxon's statistics, against tables and against counting all orders."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from math import comb, inf, sqrt

import pytest

from rlprof.gate.statistics import (
    EFFICIENCY,
    deviation,
    paired_shift,
    rank_sum_law,
    ranks_to_leave,
    signed_rank_law,
    unpaired_shift,
)


@pytest.mark.parametrize("pairs", [1, 2, 5, 8])
def test_the_signed_rank_law_is_that_of_all_signs(pairs):
    found = Counter(
        sum(rank for rank, sign in enumerate(signs, start=1) if sign)
        for signs in product((False, True), repeat=pairs)
    )

    law = signed_rank_law(pairs)

    expected = [
        sum(found[number] for number in range(value + 1)) / 2**pairs for value in range(len(law))
    ]
    assert list(law) == pytest.approx(expected)
    assert law[-1] == 1


@pytest.mark.parametrize(("base", "head"), [(1, 1), (2, 3), (3, 2), (5, 5), (4, 7)])
def test_the_rank_sum_law_is_that_of_all_orders(base, head):
    found = Counter(
        sum(place - before for before, place in enumerate(places))
        for places in combinations(range(base + head), head)
    )

    law = rank_sum_law(base, head)

    orders = comb(base + head, head)
    expected = [
        sum(found[number] for number in range(value + 1)) / orders for value in range(len(law))
    ]
    assert list(law) == pytest.approx(expected)
    assert len(law) == base * head + 1


@pytest.mark.parametrize(
    ("pairs", "error", "leave"),
    # Critical values of the one-sided test (Conover 1999, table A12).
    [(5, 0.05, 1), (6, 0.025, 1), (8, 0.05, 6), (8, 0.01, 2), (10, 0.025, 9), (12, 0.05, 18)],
)
def test_bounds_stand_where_tables_have_them(pairs, error, leave):
    assert ranks_to_leave(signed_rank_law(pairs), error) == leave


def test_five_pairs_are_bounded_by_the_lowest_and_the_highest():
    shift = paired_shift([-0.1, -0.09, -0.11, -0.12, -0.1], 1 / 32)

    assert (shift.low, shift.high) == (-0.12, -0.09)
    assert shift.middle == pytest.approx(-0.105)


def test_too_few_pairs_bound_nothing():
    shift = paired_shift([-0.1, -0.1, -0.1, -0.1], 1 / 32)

    assert (shift.low, shift.high) == (-inf, inf)
    assert shift.middle == pytest.approx(-0.1)


def test_one_wild_run_of_twelve_hardly_moves_the_interval():
    steady = [-0.10, -0.09, -0.11, -0.12, -0.10, -0.08, -0.10, -0.11, -0.09, -0.10, -0.11]

    with_it = paired_shift([*steady, 0.7], 1 / 30)

    without = paired_shift(steady, 1 / 30)
    assert with_it.high == pytest.approx(without.high, abs=0.02)
    assert with_it.high < -0.05


def test_runs_that_are_all_faster_are_bounded_by_the_closest_ones():
    shift = unpaired_shift([0.0, 0.01, 0.02], [0.10, 0.12, 0.15, 0.11, 0.13], 0.02)

    assert (shift.low, shift.high) == pytest.approx((0.08, 0.15))
    assert shift.middle == pytest.approx(0.11)


def test_one_saved_run_bounds_nothing():
    shift = unpaired_shift([0.0], [0.1] * 12, 1 / 30)

    assert (shift.low, shift.high) == (-inf, inf)


def test_more_runs_lessen_all_of_the_spread_but_that_of_the_other_side():
    few = unpaired_shift([0.0, 0.02, 0.04, 0.06], [0.0, 0.01, 0.02, 0.03], 0.05)

    many = unpaired_shift([0.0, 0.02, 0.04, 0.06], [0.0, 0.01, 0.02, 0.03] * 100, 0.05)

    assert few.fixed == many.fixed
    assert many.spread == pytest.approx(many.fixed, rel=0.01)
    assert few.spread > 1.1 * few.fixed


def test_the_deviation_is_that_of_normal_values():
    # Quantiles of a normal distribution with a standard deviation of one.
    values = [-1.64, -1.04, -0.67, -0.39, -0.13, 0.13, 0.39, 0.67, 1.04, 1.64]

    assert deviation(values) == pytest.approx(1.0, abs=0.05)


def test_a_single_value_has_no_deviation():
    assert deviation([0.1]) == inf


def test_the_spread_falls_with_the_root_of_the_pairs():
    shift = paired_shift([-0.01, 0.0, 0.01] * 4, 0.05)

    assert shift.spread == pytest.approx(shift.noise / sqrt(12 * EFFICIENCY))
