"""The laws of scaling: what was put in comes out, whatever the data."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.model.profile import Interval
from rlprof.pace.scaling import Law, Point, differ, fit_amdahl, fit_usl

LADDER = (1, 2, 4, 8, 16)


"""Each fit is repeated 200 times for its intervals."""

laws = st.builds(
    Law,
    per_worker_sps=st.floats(1, 1e6),
    contention=st.floats(0, 1),
    coherency=st.floats(0, 0.5),
)
rates = st.floats(1e-2, 1e7)


def a_rate(sps: float, *, within: float = 0.02) -> Interval:
    return Interval(sps, sps * (1 - within), sps * (1 + within))


def points_on(law: Law, counts: Sequence[int] = LADDER, *, within: float = 0.02) -> list[Point]:
    return [Point(n, a_rate(law.sps(n), within=within)) for n in counts]


@given(laws)
def test_the_usl_recovers_the_law_that_made_the_rates(law):
    fit = fit_usl(points_on(law))

    assert fit is not None
    assert fit.law.per_worker_sps == pytest.approx(law.per_worker_sps, rel=1e-6)
    assert fit.law.contention == pytest.approx(law.contention, abs=1e-6)
    assert fit.law.coherency == pytest.approx(law.coherency, abs=1e-6)
    assert fit.error < 1e-6


@given(st.floats(1, 1e6), st.floats(0, 1))
def test_amdahl_recovers_the_serial_part(alone, serial):
    fit = fit_amdahl(points_on(Law(alone, serial, 0.0)))

    assert fit is not None
    assert fit.law.contention == pytest.approx(serial, abs=1e-6)


@given(st.lists(rates, min_size=3, max_size=6))
def test_any_rates_give_a_law_within_its_limits_and_no_worse_than_amdahl(measured):
    points = [Point(2**i, a_rate(sps)) for i, sps in enumerate(measured)]

    usl, amdahl = fit_usl(points), fit_amdahl(points)

    assert usl is not None
    assert amdahl is not None
    for fit in (usl, amdahl):
        assert 0 <= fit.law.contention <= 1
        assert fit.law.coherency >= 0
        assert all(isfinite(fit.law.sps(n)) and fit.law.sps(n) > 0 for n in LADDER)
        assert fit.contention.low <= fit.law.contention <= fit.contention.high
    assert residual(usl.law, points) <= residual(amdahl.law, points) * (1 + 1e-9)


def residual(law: Law, points: Sequence[Point]) -> float:
    """What the fit makes least."""
    return sum((sps.median / law.sps(n) - 1) ** 2 for n, sps in points)


def test_noise_stays_within_the_interval_of_a_parameter():
    law, inside = Law(1000, 0.08, 0.004), 0
    generator = Random(3)

    for _ in range(30):
        noisy = [
            Point(n, a_rate(law.sps(n) * generator.lognormvariate(0, 0.02), within=0.04))
            for n in LADDER
        ]
        fit = fit_usl(noisy)
        assert fit is not None
        inside += fit.contention.low <= law.contention <= fit.contention.high

    assert inside >= 26, "a 95 % interval must hold the truth nearly always"


def test_two_counts_determine_amdahl_and_leave_the_usl_open():
    two = points_on(Law(100, 0.2, 0.0), (1, 4))

    amdahl = fit_amdahl(two)

    assert amdahl is not None
    assert amdahl.law.contention == pytest.approx(0.2)
    assert fit_usl(two) is None


def test_repeats_of_one_count_are_no_second_count():
    assert fit_amdahl([Point(4, a_rate(100)), Point(4, a_rate(110))]) is None
    assert fit_amdahl([]) is None


def test_rates_that_only_fall_peak_at_one_worker():
    fit = fit_usl([Point(1, a_rate(100)), Point(2, a_rate(60)), Point(4, a_rate(30))])

    assert fit is not None
    assert fit.law.peak == 1
    assert fit.law.sps(1) > fit.law.sps(2) > fit.law.sps(4)


def test_rates_that_grow_faster_than_the_workers_count_as_linear():
    fit = fit_usl([Point(1, a_rate(100)), Point(2, a_rate(250)), Point(4, a_rate(600))])

    assert fit is not None
    assert (fit.law.contention, fit.law.coherency) == (0, 0)
    assert fit.law.peak == fit.law.ceiling_sps == inf


def test_peak_and_ceiling_follow_gunther():
    law = Law(per_worker_sps=100, contention=0.1, coherency=0.009)

    assert law.peak == pytest.approx(10)
    assert law.ceiling_sps == pytest.approx(law.sps(10))
    assert law.sps(10) > max(law.sps(9), law.sps(11))
    assert Law(100, 0.1, 0.0).ceiling_sps == pytest.approx(1000)


def test_the_same_measurements_give_the_same_fit():
    points = points_on(Law(50, 0.1, 0.01), within=0.1)

    assert fit_usl(points) == fit_usl(points)


def test_rates_differ_only_beyond_what_both_leave_open():
    assert differ(a_rate(100, within=0.02), a_rate(105, within=0.02))
    assert not differ(a_rate(100, within=0.05), a_rate(105, within=0.05))
    assert not differ(a_rate(100), a_rate(100))
