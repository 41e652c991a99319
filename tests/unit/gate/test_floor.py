"""When a floor holds, when more runs are wanted, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from rlprof.gate.floor import Floor, FloorRun, exceeded, fastest, floor_run, is_settled, missed
from rlprof.gate.program import Side
from rlprof.model.profile import Interval
from tests.check_factory import a_measured_run


def a_floor(
    at_least: float | None = 900, counters: Mapping[str, float] | None = None, runs: int = 3
) -> Floor:
    return Floor(at_least, counters or {}, runs)


def a_run(
    sps: float | None = 1000,
    counters: Mapping[str, float] | None = None,
    *,
    unit: str = "steps",
    steps: float = 20_000,
) -> FloorRun:
    rate = None if sps is None else Interval(sps, sps * 0.99, sps * 1.01)
    return FloorRun(rate, unit, "rlprof.step", steps, counters or {})


@pytest.mark.parametrize(
    ("rates", "settled"),
    [([], False), ([800], False), ([800, 901], True), ([800, 810, 820], True), ([900], True)],
)
def test_runs_are_made_until_one_is_fast_enough(rates, settled):
    assert is_settled(a_floor(900, runs=3), [a_run(rate) for rate in rates]) == settled


def test_one_fast_run_is_enough_whichever_it_is():
    runs = [a_run(950), a_run(700), a_run(710)]

    assert missed(a_floor(900), runs) == ""
    assert fastest(runs) is runs[0]


def test_all_slow_runs_are_told():
    runs = [a_run(800), a_run(812), a_run(790)]

    told = missed(a_floor(900), runs)

    assert told == (
        "the fastest of 3 runs made 812 sps; at least 900 are asked for (all runs: 800, 812, 790)"
    )


def test_a_single_run_is_no_fastest_of_many():
    assert missed(a_floor(900, runs=1), [a_run(812)]).startswith("the run made 812 sps")


def test_a_rate_just_below_does_not_read_as_the_floor_itself():
    told = missed(a_floor(900, runs=1), [a_run(899.8)])

    assert told.startswith("the run made 899.8 sps")


def test_optimizer_steps_are_told_as_such():
    assert " updates/s; " in missed(a_floor(900, runs=1), [a_run(8, unit="updates")])


def test_without_a_rate_one_run_settles_the_counters():
    floor = a_floor(None, {"gpu_syncs": 0})

    assert is_settled(floor, [a_run(None)])
    assert ([*exceeded(floor, [a_run(None)])], missed(floor, [a_run(None)])) == ([], "")


def test_a_counter_ends_the_runs_at_once():
    floor = a_floor(900, {"log_records": 0.02})
    runs = [a_run(100, {"log_records": 0.5})]

    assert is_settled(floor, runs)
    assert tuple(exceeded(floor, runs)) == (
        "run 1 counted 0.5 log_records per step (10 000 in 20 000 steps); at most 0.02 per step "
        "are asked for",
    )


def test_a_counter_is_judged_in_every_run():
    floor = a_floor(900, {"log_records": 0.02})
    runs = [a_run(100), a_run(950, {"log_records": 0.5})]

    assert [told.startswith("run 2 counted") for told in exceeded(floor, runs)] == [True]


@pytest.mark.parametrize(("events", "fails"), [(400, False), (400.4, False), (401, True)])
def test_one_event_more_is_too_many_and_rounding_is_none(events, fails):
    run = a_run(counters={"log_records": events / 20_000})

    assert any(exceeded(a_floor(None, {"log_records": 400 / 20_000}), [run])) == fails


def test_what_did_not_occur_is_zero():
    assert not [*exceeded(a_floor(None, {"gpu_syncs": 0}), [a_run(counters={"log_records": 3})])]


def test_what_the_runner_measured_is_what_is_judged():
    measured = a_measured_run(Side.HEAD, sps=500, counters={"gpu_syncs": 0.0, "log_records": 0.1})

    run = floor_run(measured)

    assert run.sps is not None
    assert (run.sps.median, run.steps, run.counters) == (500, 20_000, {"log_records": 0.1})
