from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.profile.memory import memory_trend

SECOND = 1_000_000
MIB = 1 << 20
GROWTH = 10 * MIB


def series(level: Callable[[float], float], *, seconds: int = 60) -> list[tuple[int, float]]:
    """``level`` by part of the time, every half second."""
    count = 2 * seconds
    return [(i * SECOND // 2, level(i / count)) for i in range(count + 1)]


def test_a_straight_line_has_its_slope():
    trend = memory_trend(series(lambda part: 100 * MIB + GROWTH * part))

    assert trend is not None
    assert trend.bytes_per_hour == pytest.approx(60 * GROWTH)
    assert trend.grown_bytes == pytest.approx(GROWTH)
    assert (trend.low, trend.high) == pytest.approx((trend.bytes_per_hour,) * 2)
    assert trend.is_steady


GROWS_ON = {
    "in steps": lambda part: GROWTH * (part * 20 // 1) / 20,
    "in waves": lambda part: GROWTH * (part + 0.02 * math.sin(60 * part)),
    "with a garbage collection now and then": lambda part: GROWTH * (part + 0.3 * (part * 9 % 1)),
    "faster and faster": lambda part: GROWTH * (part + part**2) / 2,
    "with an odd look": lambda part: GROWTH * part + 50 * GROWTH * (0.5 < part < 0.52),
}
LEVELS_OFF = {
    "flat": lambda part: GROWTH + 0.0 * part,
    "a start that fills caches": lambda part: GROWTH * (1 - math.exp(-8 * part)),
    "a buffer full half-way": lambda part: GROWTH * min(part, 0.5),
    "a buffer full near the end": lambda part: GROWTH * min(part, 0.8),
    "one step": lambda part: GROWTH * (part > 0.6),
    "falling": lambda part: -GROWTH * part,
    "waves alone": lambda part: GROWTH * math.sin(25 * part),
}


@pytest.mark.parametrize("level", GROWS_ON.values(), ids=GROWS_ON)
def test_what_grows_on(level):
    trend = memory_trend(series(level))

    assert trend is not None
    assert trend.is_steady
    assert 0 < trend.low <= trend.bytes_per_hour <= trend.high


@pytest.mark.parametrize("level", LEVELS_OFF.values(), ids=LEVELS_OFF)
def test_what_levels_off(level):
    trend = memory_trend(series(level))

    assert trend is not None
    assert not trend.is_steady


def test_short_windows_at_the_start_do_not_outweigh_the_rest():
    fine = [
        (i * SECOND // 10, GROWTH * i / 100.0) for i in range(100)
    ]  # 10 s of growth, then none.
    coarse = [(i * SECOND, float(GROWTH)) for i in range(10, 100)]

    trend = memory_trend(fine + coarse)

    assert trend is not None
    assert not trend.is_steady
    assert trend.bytes_per_hour == pytest.approx(0.0)


@pytest.mark.parametrize("count", range(9))
def test_too_few_points_have_no_trend(count):
    assert memory_trend([(i * SECOND, float(i)) for i in range(count)]) is None


points = st.lists(
    st.tuples(st.integers(0, 10**9), st.floats(0, 1e12)),
    unique_by=lambda point: point[0],
    max_size=80,
)


@given(points)
def test_any_points_give_an_ordered_range(drawn):
    trend = memory_trend(sorted(drawn))

    assert trend is None or trend.low <= trend.bytes_per_hour <= trend.high
