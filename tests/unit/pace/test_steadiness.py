from __future__ import annotations

import random

import pytest

from rlprof.model.profile import Drift
from rlprof.pace.steadiness import (
    Segment,
    clear_fall,
    drift_of,
    lag_one_correlation,
    median_interval,
    settled_rate,
    warm_up_length,
)

HALF_SECOND = 500_000


def noise(seed: int, size: int, *, spread: float, correlation: float = 0.0) -> list[float]:
    """An AR(1) series around 0; ``spread`` is that of its innovations."""
    rng = random.Random(seed)
    value = rng.gauss(0, spread / (1 - correlation**2) ** 0.5)
    series = []
    for _ in range(size):
        value = correlation * value + rng.gauss(0, spread)
        series.append(value)
    return series


def around(level: float, size: int, *, spread: float = 20.0, seed: int = 1) -> list[float]:
    return [level + value for value in noise(seed, size, spread=spread)]


def windows(rates: list[float]) -> list[Segment]:
    return [Segment(HALF_SECOND, rate * HALF_SECOND / 1e6) for rate in rates]


# Warm-up


def test_a_slow_start_is_warm_up():
    rates = [100.0, 120.0, 90.0, 110.0, 100.0, *around(1000, 35)]

    assert 5 <= warm_up_length(rates) <= 12


def test_a_fast_start_is_warm_up_too():
    """Off-policy learners explore before they learn."""
    rates = around(3000, 15, spread=40) + around(1000, 60)

    assert 15 <= warm_up_length(rates) <= 18


def test_a_warm_up_longer_than_half_of_the_run_is_found_when_it_is_a_plain_step():
    rates = around(100, 40, spread=5) + around(1000, 20)

    assert warm_up_length(rates) == 40


@pytest.mark.parametrize("seed", range(5))
def test_a_decline_is_no_warm_up(seed):
    rates = [1000 - 3 * i + wobble for i, wobble in enumerate(noise(seed, 100, spread=5))]

    assert warm_up_length(rates) == 0


def test_a_slow_end_is_what_it_is_and_no_reason_to_forget_the_rest():
    """A pool's last worker, or an evaluation."""
    rates = around(1000, 45) + around(100, 15)

    assert warm_up_length(rates) <= 3


@pytest.mark.parametrize("where", [2, 20, 40, 59])
def test_one_huge_outlier_is_no_warm_up(where):
    rates = around(1000, 60)
    rates[where] = 90_000

    assert warm_up_length(rates) <= 6


def test_a_constant_rate_has_no_warm_up():
    assert warm_up_length([500.0] * 40) == 0


def test_few_rates_have_no_warm_up_to_be_told_from_noise():
    assert warm_up_length([1.0, 500.0, 500.0, 500.0, 500.0, 500.0, 500.0]) == 0


# The settled rate


@pytest.mark.parametrize(
    ("size", "correlation"),
    [(20, 0.0), (60, 0.0), (60, 0.6), (200, 0.0), (200, 0.6), (200, 0.9), (400, 0.8)],
)
def test_the_interval_holds_the_true_rate_as_often_as_it_says(size, correlation):
    """95 % is nominal; the end-to-end procedure is simulated, warm-up search included."""
    rounds = 200
    hits = 0
    for seed in range(rounds):
        rates = [1000 + v for v in noise(seed, size, spread=30, correlation=correlation)]
        interval = settled_rate(windows(rates[warm_up_length(rates) :]))
        hits += interval.low <= 1000 <= interval.high

    assert hits / rounds >= 0.9


def test_an_interval_narrows_with_the_length_of_the_run():
    short = settled_rate(windows(around(1000, 20)))
    long = settled_rate(windows(around(1000, 500)))

    assert long.high - long.low < (short.high - short.low) / 2


@pytest.mark.parametrize(("collecting", "learning"), [(6, 6), (3, 2), (5, 9)])
def test_a_program_that_collects_then_learns_is_measured_over_whole_cycles(collecting, learning):
    cycle = collecting + learning
    rates = [1000.0 if i % cycle < collecting else 0.0 for i in range(10 * cycle)]
    rates = [max(0.0, r + w) for r, w in zip(rates, noise(3, len(rates), spread=5), strict=True)]

    interval = settled_rate(windows(rates))

    assert interval.median == pytest.approx(1000 * collecting / cycle, rel=0.02)
    assert interval.high - interval.low < 0.05 * interval.median


def test_one_stalled_window_does_not_move_the_rate():
    rates = around(1000, 60)
    rates[30] = 0.0

    assert settled_rate(windows(rates)).median == pytest.approx(1000, rel=0.02)


def test_windows_of_unequal_length_weigh_by_their_length():
    """Old windows of a long run are merged: 4 s at 100, 4 s at 200 and so on."""
    segments = [Segment(4_000_000, 400.0), *windows([200.0] * 8)] * 8

    interval = settled_rate(segments)

    assert interval.low <= 150 <= interval.high


def test_few_windows_give_all_steps_over_all_time_and_a_wide_interval():
    interval = settled_rate(windows([600.0, 1000.0, 1000.0, 400.0]))

    assert interval.median == 750
    assert interval.low == 400
    # Were the two at the ends all but empty: 1 500 steps in 1 s.
    assert interval.high == 1500


@pytest.mark.parametrize("rates", [[], [1000.0], [1000.0, 900.0]])
def test_one_or_two_windows_tell_no_rate(rates):
    assert settled_rate(windows(rates)) is None


def test_rare_counts_are_few_values_however_many_windows_they_span():
    """Three counts, 10 s apart, spread over 60 windows."""
    rates = [900.0] * 20 + [1000.0] * 20 + [1100.0] * 20

    interval = settled_rate(windows(rates), spacing_us=10_000_000)

    assert interval.median == pytest.approx(1000)
    assert interval.high - interval.low > 400


def test_dependent_values_count_for_less():
    alternating = [990.0, 1010.0] * 20
    in_runs = ([990.0] * 5 + [1010.0] * 5) * 4

    assert lag_one_correlation(alternating) < -0.9 < 0.5 < lag_one_correlation(in_runs)
    narrow = median_interval(around(1000, 40))
    wide = median_interval([1000 + v for v in noise(1, 40, spread=20, correlation=0.8)])
    assert wide.high - wide.low > narrow.high - narrow.low


def test_drift_compares_the_ends():
    assert drift_of(windows([1000.0 - 10 * i for i in range(30)])) == (955.0, 755.0)
    assert drift_of(windows([1000.0] * 30)) == (1000.0, 1000.0)
    assert drift_of(windows([1000.0, 1.0])) is None


def test_of_few_blocks_only_a_drift_by_factors_is_told():
    assert drift_of(windows([1000.0, 950.0, 900.0, 850.0, 800.0, 750.0])) is None
    assert drift_of(windows([1000.0, 900.0, 700.0, 500.0, 300.0, 100.0])) == (950.0, 200.0)
    assert drift_of(windows([1000.0, 900.0, 700.0, 500.0, 300.0])) is None


@pytest.mark.parametrize(
    ("first", "last", "by_factors"),
    [(100, 200, True), (200, 100, True), (100, 199, False), (100, 100, False), (0, 0, False)],
)
def test_twice_as_quick_is_a_drift_by_factors(first, last, by_factors):
    assert Drift(first, last).is_by_factors is by_factors


def test_drift_of_a_program_that_collects_then_learns_is_not_that_of_its_turns():
    turns = windows([1000.0, 1000.0, 0.0, 0.0, 0.0] * 12)

    drift = drift_of(turns)

    assert drift is not None
    assert drift.change == pytest.approx(0, abs=0.01)
    assert clear_fall(turns) is None


def test_a_rate_that_falls_by_more_than_its_noise_falls():
    falling = [1000 - 8 * i + v for i, v in enumerate(noise(3, 40, spread=30))]

    fall = clear_fall(windows(falling))

    assert fall is not None
    assert fall.first == pytest.approx(950, abs=30)
    assert fall.last == pytest.approx(740, abs=30)


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_no_fall(seed):
    level = [1000 + v for v in noise(seed, 60, spread=150)]
    wandering = [1000 + v for v in noise(seed, 60, spread=80, correlation=0.8)]

    assert clear_fall(windows(level)) is None
    assert clear_fall(windows(wandering)) is None


def test_a_stall_at_the_end_and_a_trifle_are_no_fall():
    stalled = [1000.0 + v for v in noise(5, 40, spread=20)]
    stalled[-3:] = [0.0, 0.0, 100.0]
    trifle = [1000.0 - i for i in range(40)]

    assert clear_fall(windows(stalled)) is None
    assert clear_fall(windows(trifle)) is None


def test_too_few_windows_tell_no_fall():
    assert clear_fall(windows([1000.0, 500.0, 100.0])) is None
    assert clear_fall([]) is None
