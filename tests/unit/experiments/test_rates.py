"""The pace of a program, read off what it has counted."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.experiments.rates import CountLog, Rhythm, StepTotal, rate_between, rhythm_of

WITHOUT_CYCLES = Rhythm(0.01, 0.0)


def log_of(*counts: tuple[float, int]) -> CountLog:
    log = CountLog()
    for at_s, total in counts:
        log.add(StepTotal(at_s, total))
    return log


def cycles(number: int, *, steps: int, step_s: float, pause_s: float) -> CountLog:
    """Rollouts of ``steps``, each followed by an update of ``pause_s``."""
    log, now_s, total = CountLog(), 0.0, 0
    for _ in range(number):
        for _ in range(steps):
            now_s += step_s
            total += 1
            log.add(StepTotal(now_s, total))
        now_s += pause_s
    return log


def rate(begun: StepTotal, ended: StepTotal) -> float | None:
    return rate_between(begun, ended, leaves_queue_out=False)


def test_only_changes_are_kept():
    log = log_of((1.0, 5), (1.1, 5), (1.2, 6), (1.3, 6), (1.4, 4))

    assert log.counts == [StepTotal(1.0, 5), StepTotal(1.2, 6)]


def test_a_boundary_is_the_first_count_from_a_moment_on():
    log = log_of((1.0, 1), (2.0, 2), (3.0, 3))

    assert log.boundary(2.0, WITHOUT_CYCLES) == StepTotal(2.0, 2)
    assert log.boundary(2.1, WITHOUT_CYCLES) == StepTotal(3.0, 3)
    assert log.boundary(3.1, WITHOUT_CYCLES) is None
    assert CountLog().boundary(0.0, WITHOUT_CYCLES) is None


def test_with_cycles_it_is_the_first_count_after_a_long_pause():
    log = log_of((1.0, 1), (1.1, 2), (1.6, 3), (1.7, 4), (2.2, 5))
    rhythm = Rhythm(0.6, 0.3)

    assert log.boundary(1.0, rhythm) == StepTotal(1.6, 3)
    assert log.boundary(1.6, rhythm) == StepTotal(1.6, 3)
    assert log.boundary(1.65, rhythm) == StepTotal(2.2, 5)
    assert log.boundary(2.3, rhythm) is None


def test_a_pause_that_began_before_the_moment_counts_as_well():
    log = log_of((1.0, 1), (2.0, 2))

    assert log.boundary(1.5, Rhythm(1.0, 0.5)) == StepTotal(2.0, 2)


@pytest.mark.parametrize("number", range(5))
def test_few_counts_have_no_rhythm(number):
    counts = [StepTotal(float(i), i) for i in range(number)]

    assert rhythm_of(counts) is None


def test_even_steps_have_none_but_their_own():
    rhythm = rhythm_of(cycles(1, steps=500, step_s=0.02, pause_s=0.0).counts)

    assert rhythm is not None
    assert rhythm.unit_s == pytest.approx(0.02)
    assert not rhythm.has_cycles


@pytest.mark.parametrize("seed", range(10))
def test_uneven_steps_are_no_cycles(seed):
    """Steps of one environment vary up to threefold."""
    noise, log, now_s = random.Random(seed), CountLog(), 0.0
    for total in range(500):
        now_s += noise.uniform(0.01, 0.03)
        log.add(StepTotal(now_s, total))

    rhythm = log.rhythm(0.0)

    assert rhythm is not None
    assert not rhythm.has_cycles


def test_rollouts_and_updates_are_cycles():
    log = cycles(6, steps=128, step_s=0.002, pause_s=0.4)

    rhythm = log.rhythm(0.0)

    assert rhythm is not None
    assert rhythm.unit_s == pytest.approx(128 * 0.002 + 0.4)
    assert 0.002 < rhythm.pause_s <= 0.4


def test_pauses_for_single_episodes_end_no_cycle():
    log, now_s, total = CountLog(), 0.0, 0
    for _ in range(5):
        for step in range(128):
            now_s += 0.03 if step % 40 == 39 else 0.002
            total += 1
            log.add(StepTotal(now_s, total))
        now_s += 0.8

    rhythm = log.rhythm(0.0)

    assert rhythm is not None
    assert rhythm.unit_s == pytest.approx(128 * 0.002 + 3 * 0.028 + 0.8, rel=0.01)


def test_rare_pauses_are_no_cycles():
    """A checkpoint every now and then."""
    log, now_s = CountLog(), 0.0
    for total in range(2000):
        now_s += 0.05 if total % 500 == 499 else 0.01
        log.add(StepTotal(now_s, total))

    rhythm = log.rhythm(0.0)

    assert rhythm is not None
    assert not rhythm.has_cycles


def test_a_rhythm_is_of_what_came_since_a_moment():
    log = cycles(4, steps=50, step_s=0.001, pause_s=0.5)
    begun_s = log.counts[-1].at_s + 0.001
    for number in range(100):
        log.add(StepTotal(begun_s + 0.01 * number, 1000 + number))

    rhythm = log.rhythm(begun_s)

    assert rhythm is not None
    assert not rhythm.has_cycles


def test_no_rate_where_nothing_was_counted():
    one = StepTotal(1.0, 5)

    assert rate(one, one) is None
    assert rate(one, StepTotal(2.0, 5)) is None
    assert rate(StepTotal(2.0, 9), one) is None
    assert rate(one, StepTotal(3.0, 9)) == 2.0


def test_the_time_without_a_core_is_left_out_where_that_is_asked_for():
    begun, ended = StepTotal(1.0, 5, 0.5), StepTotal(3.0, 9, 1.5)

    assert rate_between(begun, ended, leaves_queue_out=False) == 2.0
    assert rate_between(begun, ended, leaves_queue_out=True) == 4.0


def test_the_time_that_a_treatment_takes_is_left_out():
    begun = StepTotal(1.0, 5, treated_s=0.25)

    assert rate(begun, StepTotal(3.0, 9, treated_s=1.25)) == 4.0
    # Of several processes, or of a clock that jumped.
    assert rate(begun, StepTotal(3.0, 9, treated_s=9.0)) == pytest.approx(20.0)


def test_no_rate_where_there_was_no_core_at_all():
    """Of two clocks that are read one after the other, the second may be ahead."""
    assert rate_between(StepTotal(1.0, 5), StepTotal(2.0, 9, 1.01), leaves_queue_out=True) is None


def test_waits_for_a_core_are_no_pauses_that_end_a_cycle():
    log, queued_s = CountLog(), 0.0
    for total in range(500):
        queued_s += 0.2 if total % 40 == 39 else 0.0
        log.add(StepTotal(0.01 * total + queued_s, total, queued_s))

    rhythm = log.rhythm(0.0)

    assert rhythm is not None
    assert rhythm.unit_s == pytest.approx(0.01)
    assert not rhythm.has_cycles


@pytest.mark.parametrize(("spread", "has_cycles"), [(0.0, True), (0.2, True), (0.8, False)])
def test_cycles_are_regular(spread, has_cycles):
    """Episodes that end by chance are none: their lengths say nothing of where one begins."""
    log, now_s, total = CountLog(), 0.0, 0
    for number in range(20):
        longer = spread if number % 2 else -spread
        for _ in range(round(100 * (1 + longer))):
            now_s += 0.004
            total += 1
            log.add(StepTotal(now_s, total))
        now_s += 0.1

    rhythm = log.rhythm(0.0)

    assert rhythm is not None
    assert rhythm.has_cycles is has_cycles


@given(
    steps=st.integers(2, 200),
    step_s=st.floats(0.001, 0.01),
    share=st.floats(0.2, 0.9),
    begun=st.floats(0.0, 3.0),
    length=st.floats(1.5, 4.0),
)
def test_of_whole_cycles_the_rate_is_that_of_the_program(steps, step_s, share, begun, length):
    """Wherever a slot begins and ends: between boundaries there are whole cycles."""
    pause_s = max(steps * step_s * share / (1 - share), 8 * step_s)
    log = cycles(14, steps=steps, step_s=step_s, pause_s=pause_s)
    rhythm = log.rhythm(0.0)
    assert rhythm is not None
    assert rhythm.has_cycles
    cycle_s = steps * step_s + pause_s

    first = log.boundary(begun * cycle_s, rhythm)
    last = log.boundary((begun + length) * cycle_s, rhythm)

    assert first is not None
    assert last is not None
    assert rate(first, last) == pytest.approx(steps / cycle_s)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 10**9)), max_size=60))
def test_no_counts_are_an_error(told):
    log = CountLog()
    for (at_s, _), total in zip(sorted(told), sorted(total for _, total in told), strict=True):
        log.add(StepTotal(at_s, total))

    rhythm = log.rhythm(0.0)

    if rhythm is not None:
        assert rhythm.unit_s >= 0
        log.boundary(0.0, rhythm)
