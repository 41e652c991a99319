"""Numbers with units in words. ``figures.test.mjs`` has the same of the page's scripts."""

from __future__ import annotations

import pytest

from rlprof import units


@pytest.mark.parametrize(
    ("us", "said"),
    [
        (0, "0 µs"),
        (0.42, "0.42 µs"),
        (3.14, "3.1 µs"),
        (9.96, "10 µs"),
        (850, "850 µs"),
        (999.7, "1 ms"),
        (12_500, "12.5 ms"),
        (999_700, "1.0 s"),
        (3_200_000, "3.2 s"),
        (59_960_000, "1 min 00 s"),
        (245_000_000, "4 min 05 s"),
        (3_599_600_000, "1 h 00 min"),
        (3_720_000_000, "1 h 02 min"),
    ],
)
def test_durations_are_in_the_largest_unit_that_fits(us, said):
    assert units.duration(us) == said


@pytest.mark.parametrize(
    ("us", "said"),
    [(12_300_000, "12 s"), (59_900_000, "1 min"), (3_493_000_000, "58 min"), (1.2e10, "3.3 h")],
)
def test_a_rough_time_has_one_unit(us, said):
    assert units.rough_duration(us) == said


def test_operations_never_read_as_powers_of_ten():
    assert units.flops(999_700) == "1 MFLOP"
    assert units.flops(34e9) == "34 GFLOP"


def test_shares_have_a_decimal_where_it_tells():
    assert [units.percent(share) for share in (0.042, 0.0994, 0.0996, 0.37, 1)] == [
        "4.2 %", "9.9 %", "10 %", "37 %", "100 %",
    ]  # fmt: skip


def test_counts_and_sizes():
    assert [units.count(number) for number in (4.214, 99.96, 657.4, 12_480)] == [
        "4.21", "100", "657", "12 480",
    ]  # fmt: skip
    assert [units.size(size) for size in (512, 1.4 * 2**20, 3 * 2**40)] == [
        "512 B", "1.4 MiB", "3072.0 GiB",
    ]  # fmt: skip
