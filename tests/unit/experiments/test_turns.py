"""The order of slots, and what their rates say, with noise of every kind."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.experiments.turns import (
    CLEAR,
    FIRST_PAIRS,
    LONG_PAIRS,
    NOTHING,
    WIDTH,
    Slot,
    SlotTurns,
    is_clear,
)


def measure(
    rate: Callable[[Slot, int], float | None],
    *,
    lengthens: bool = True,
    trusted_s: float = 0.0,
    most: int = 60,
) -> SlotTurns:
    """SlotTurns until there are enough; ``rate`` is told the slot and its number."""
    turns = SlotTurns(0.5, lengthens, trusted_s)
    for number in range(most):
        turns.add(rate(turns.next(), number))
        if turns.is_enough:
            break
    return turns


def saving(saved: float, noise: Callable[[], float] = lambda: 0.0) -> Callable[[Slot, int], float]:
    """Rates of a program of which the treatment saves that part of the time."""
    return lambda slot, _: 100.0 * exp(noise()) / ((1 - saved) if slot.is_on else 1)


def test_slots_come_in_pairs_of_which_each_begins_with_what_the_last_one_ended_with():
    turns, seen = SlotTurns(0.5), []
    for _ in range(8):
        seen.append(turns.next().is_on)
        turns.add(1.0)

    assert seen == [False, True, True, False, False, True, True, False]


def test_what_comes_next_does_not_change_by_asking():
    turns = SlotTurns(0.5)

    assert turns.next() == turns.next() == (False, 0.5)


@pytest.mark.parametrize("saved", [0.0, 0.05, 0.5, 0.9, -0.2])
def test_without_noise_it_is_exact(saved):
    turns = measure(saving(saved))

    assert turns.measured == pytest.approx((saved, saved, saved))
    assert turns.is_enough


def test_nothing_is_told_before_there_are_bounds():
    turns = SlotTurns(0.5)
    for _ in range(2 * (FIRST_PAIRS - 1)):
        turns.add(100.0)
    assert (turns.measured, turns.is_enough, is_clear(turns.measured)) == (None, False, False)

    turns.add(100.0)
    turns.add(100.0)

    assert turns.measured == (0.0, 0.0, 0.0)


def test_where_nothing_is_gained_no_longer_slots_are_asked_for():
    turns = measure(saving(0.0))

    assert turns.is_enough
    assert (turns.pairs, turns.longest_s) == (FIRST_PAIRS, 0.5)


def test_short_slots_that_live_on_buffers_do_not_say_that_nothing_is_gained():
    def fed(slot: Slot, _: int) -> float:
        return 200.0 if slot.is_on and slot.length_s > 0.5 else 100.0

    assert measure(fed).measured == (0.0, 0.0, 0.0)
    turns = measure(fed, trusted_s=1.0)
    assert turns.is_enough
    assert turns.measured == pytest.approx((0.5, 0.5, 0.5))


def test_a_gain_is_looked_at_in_slots_of_twice_the_length():
    turns = measure(saving(0.4))

    assert (turns.pairs, turns.longest_s) == (FIRST_PAIRS + LONG_PAIRS, 1.0)


def test_slots_that_are_long_from_the_beginning_stay_as_they_are():
    turns = measure(saving(0.4), lengthens=False)

    assert (turns.pairs, turns.longest_s) == (FIRST_PAIRS, 0.5)


@pytest.mark.parametrize("drift", [-0.05, -0.01, 0.01, 0.05])
@pytest.mark.parametrize("saved", [0.0, 0.3])
def test_a_drift_cancels_out(drift, saved):
    """Each slot is so much faster than the last one, as of a training that goes on."""
    turns = SlotTurns(0.5, lengthens=False)
    for number in range(24):
        slot = turns.next()
        turns.add(saving(saved)(slot, number) * exp(drift * number))

    assert turns.measured is not None
    assert turns.measured.median == pytest.approx(saved, abs=0.001)
    assert turns.measured.low <= saved <= turns.measured.high


NOISES = {
    "small": lambda seeded: lambda: seeded.gauss(0, 0.01),
    "large": lambda seeded: lambda: seeded.gauss(0, 0.08),
    "even": lambda seeded: lambda: seeded.uniform(-0.1, 0.1),
    "long tails": lambda seeded: (
        lambda: seeded.gauss(0, 0.02) - (0.5 if seeded.random() < 0.08 else 0.0)
    ),
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("saved", [0.0, 0.1, 0.5])
def test_the_interval_holds_the_truth_in_nine_of_ten(noise, saved):
    held = told = 0
    for seed in range(300):
        turns = measure(saving(saved, NOISES[noise](random.Random(seed))))
        measured = turns.measured
        assert measured is not None
        told += 1
        held += measured.low <= saved <= measured.high

    # Looked at again after each pair, it may end when it is narrow by chance.
    assert held / told > 0.84


def test_short_slots_that_lie_are_left():
    """What is buffered hides a part of what the treatment saves, in short slots more than in long ones."""
    noise = random.Random(1)
    turns = measure(
        lambda slot, _: (
            saving(0.1 if slot.length_s < 1 else 0.5)(slot, 0) * exp(noise.gauss(0, 0.01))
        )
    )

    assert turns.is_enough
    assert turns.measured is not None
    assert turns.measured.low > 0.45
    assert turns.measured.median == pytest.approx(0.5, abs=0.02)
    assert turns.longest_s == 1.0


def test_short_slots_that_agree_count_as_well():
    noise = random.Random(1)
    turns = measure(saving(0.5, lambda: noise.gauss(0, 0.01)))

    assert turns.pairs == FIRST_PAIRS + LONG_PAIRS
    assert turns.measured is not None
    assert turns.measured.median == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("nothing", [None, 0.0])
@pytest.mark.parametrize("half", [0, 1])
def test_a_pair_of_which_a_half_counted_nothing_says_nothing(half, nothing):
    turns = SlotTurns(0.5, lengthens=False)
    for number in range(2 * FIRST_PAIRS + 4):
        slot = turns.next()
        turns.add(nothing if number in (half, 4 + half) else saving(0.3)(slot, number))

    assert turns.pairs == FIRST_PAIRS
    assert turns.measured == pytest.approx((0.3, 0.3, 0.3))


def test_where_nothing_is_ever_counted_nothing_is_told():
    turns = measure(lambda _slot, _number: None)

    assert (turns.pairs, turns.measured) == (0, None)
    assert not turns.is_enough
    assert not is_clear(turns.measured)
    assert turns.longest_s == 0.5


def test_much_noise_is_not_enough_and_not_clear():
    noise = random.Random(5)
    turns = measure(saving(0.2, lambda: noise.gauss(0, 1.0)), most=16)

    assert not turns.is_enough
    assert not is_clear(turns.measured)


@given(
    rates=st.lists(st.one_of(st.none(), st.floats(1e-3, 1e6)), max_size=60),
    lengthens=st.booleans(),
)
def test_whatever_is_counted_bounds_are_in_order(rates, lengthens):
    turns = SlotTurns(0.5, lengthens=lengthens)
    length_s = 0.0
    for rate in rates:
        slot = turns.next()
        assert slot.length_s in (length_s, 2 * length_s) or not length_s
        length_s = slot.length_s
        turns.add(rate)

    measured = turns.measured
    if measured is not None:
        assert measured.low <= measured.median <= measured.high < 1
        if turns.is_enough:
            assert measured.high - measured.low <= WIDTH or measured.high < NOTHING
            assert is_clear(turns.measured)
        if is_clear(turns.measured):
            assert measured.high - measured.low <= CLEAR or measured.high < NOTHING
    assert length_s <= 1.0 or len(rates) > 2 * FIRST_PAIRS


@given(st.lists(st.floats(-1, 1), min_size=5, max_size=20), st.floats(-0.5, 0.5))
def test_a_faster_treatment_saves_more(ratios, more):
    def told(plus: float) -> SlotTurns:
        turns = SlotTurns(0.5, lengthens=False)
        for ratio in ratios:
            halves = [100.0, 100.0 * exp(ratio + plus)]
            first = turns.next().is_on
            for rate in reversed(halves) if first else halves:
                turns.add(rate)
        return turns

    one, other = told(0.0).measured, told(more).measured

    assert one is not None
    assert other is not None
    # A saved share is no sum: of rates the ratios are.
    assert log((1 - one.median) / (1 - other.median)) == pytest.approx(more, abs=1e-9)


def test_a_wide_interval_below_zero_says_nothing():
    turns = SlotTurns(0.4)
    for ratio in (-0.1, -0.9, -0.2, -0.6, -0.3):
        first = turns.next().is_on
        halves = [100.0, 100.0 * exp(ratio)]
        for rate in reversed(halves) if first else halves:
            turns.add(rate)

    assert turns.measured is not None
    assert turns.measured.high < NOTHING
    assert not turns.is_enough
    assert not is_clear(turns.measured)
