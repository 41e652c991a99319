from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.recording.machine import clock as clock_module
from rlprof.recording.machine.clock import RunClock

STRETCHES = st.lists(st.integers(1, 10**6), max_size=20)


@pytest.fixture
def now(monkeypatch):
    """The monotonic clock (seconds), in a list so that tests can move it."""
    time_s = [100.0]
    monkeypatch.setattr(clock_module.time, "monotonic", lambda: time_s[0])
    return time_s


def test_a_pause_is_left_out(now):
    clock = RunClock()

    clock.stood_still(102.0, 110.0)
    now[0] = 113.0

    assert clock.now_us() == 5_000_000


def test_a_moment_within_a_pause_is_that_of_its_begin(now):
    clock = RunClock()

    clock.stood_still(102.0, 110.0)

    assert clock.at(105.0) == clock.at(102.0) == clock.at(110.0) == 2_000_000


def test_what_was_before_a_pause_keeps_its_time(now):
    clock = RunClock()
    before = clock.at(101.5)

    clock.stood_still(102.0, 110.0)

    assert clock.at(101.5) == before == 1_500_000


def test_no_time_is_left_out_twice(now):
    clock = RunClock()

    clock.stood_still(102.0, 110.0)
    assert clock.stood_still(104.0, 112.0) == (110.0, 112.0)
    now[0] = 113.0

    assert clock.now_us() == 3_000_000


@given(running_ms=STRETCHES, stopped_ms=STRETCHES)
def test_a_run_is_as_long_as_it_ran(running_ms, stopped_ms):
    clock = RunClock()
    start_s = now_s = clock._start_s
    for ran, stopped in zip(running_ms, stopped_ms, strict=False):
        now_s += ran / 1e3
        clock.stood_still(now_s, now_s + stopped / 1e3)
        now_s += stopped / 1e3

    pairs = min(len(running_ms), len(stopped_ms))
    assert clock.at(now_s) == pytest.approx(1e3 * sum(running_ms[:pairs]), abs=100)
    assert clock.at(start_s) == 0
