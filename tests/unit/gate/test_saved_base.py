"""A check against a baseline file, with runs that are read off a list, and what such a file is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlprof.errors import (
    MeasureError,
)
from rlprof.gate.baseline import Baseline, check_machine
from rlprof.gate.bases import on_saved_command
from rlprof.gate.counters import CounterTolerance
from rlprof.gate.decision import Verdict
from rlprof.gate.judge import measure_baseline
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome
from rlprof.gate.program import Side
from rlprof.model.counters import COST_COUNTERS, TOLD_ON_DEMAND
from tests.check_factory import (
    MACHINE,
    ListedRuns,
    Runs,
    a_baseline,
    a_measured_run,
    a_program,
    checked_against,
    rates,
    slug_of,
)


def against(
    baseline_sps: list[float],
    runs: Runs,
    tolerances: tuple[CounterTolerance, ...] = (),
    *,
    counters_only: bool = False,
    **changes: object,
) -> Outcome:
    baseline = a_baseline(baseline_sps, **{"counters_per_step": {}, **changes})
    return checked_against(baseline, runs, tolerances, counters_only=counters_only)


@pytest.mark.parametrize("name", ["kernel_launches", "gc_collections", "gpu_syncs"])
def test_a_baseline_without_what_is_asked_for_cannot_be_compared(name):
    outcome = against([1000.0] * 5, rates(1000, 1000), (CounterTolerance(name, 0.0),))

    assert slug_of(outcome) == "baseline-lacks-counter"
    assert not outcome.runs


@pytest.mark.parametrize(
    ("tolerance", "saved"),
    [
        (CounterTolerance("kernel_launches", 0.0), {"kernel_launches": (3.0,) * 5}),
        (CounterTolerance("kernel_launches", None), {}),
        (CounterTolerance("gpu_syncs", 0.0), {"gpu_syncs": (0.0,) * 5}),
    ],
)
def test_other_baselines_can(tolerance, saved):
    outcome = against(
        [1000.0, 1002, 999, 1001, 1000], rates(1000, 1000), (tolerance,), counters_per_step=saved
    )

    assert outcome.verdict is Verdict.PASS


STEADY = [1000.0 + number for number in range(12)]


def counting(side: Side, pair: int) -> MeasuredRun:
    return a_measured_run(side, pair, counters={"log_records": 2.0, "gpu_syncs": 0.5})


def test_what_a_baseline_of_an_older_rlprof_does_not_tell_is_not_judged():
    outcome = against(STEADY, counting, counters_per_step={"log_records": (2.0,) * 12})

    assert outcome.verdict is Verdict.PASS
    (note,) = outcome.notes
    assert note.slug == "counters-not-saved"
    assert "gpu_syncs" in note.text
    assert "log_records" not in note.text


def test_what_was_zero_and_is_told_is_judged():
    saved = {"log_records": (2.0,) * 12, "gpu_syncs": (0.0,) * 12}

    outcome = against(STEADY, counting, counters_per_step=saved)

    assert [counter.name for counter in outcome.failing_counters] == ["gpu_syncs"]
    assert outcome.notes == ()


@pytest.mark.parametrize(
    ("saved", "is_told"),
    [
        (("/opt/env/bin/python3.12", "train.py"), False),
        (("python", "-u", "train.py"), True),
        (("./train.sh",), True),
    ],
)
def test_a_baseline_of_another_command_is_told(saved, is_told):
    outcome = against(STEADY, rates(1000, 1000), command=saved)

    assert ("baseline-other-command" in {note.slug for note in outcome.notes}) == is_told


def test_another_program_that_is_no_python_is_told_too():
    remarks = on_saved_command(
        a_baseline(command=("./old.sh",)), a_program(Side.HEAD, command=("./new.sh",))
    )

    assert [remark.slug for remark in remarks] == ["baseline-other-command"]


def test_a_baseline_of_counters_alone_is_not_compared_by_rates():
    saved = {"counters_per_step": {"log_records": (2.0, 2.0)}, "steps": (20_000.0,) * 2}

    assert slug_of(against([], counting, **saved)) == "baseline-without-rates"
    outcome = against([], counting, counters_only=True, **saved)

    assert outcome.verdict is Verdict.PASS
    assert len(outcome.runs) == 2
    assert outcome.rates(Side.BASE) == ()


def test_counters_alone_are_not_compared_with_a_baseline_that_has_none():
    outcome = against(STEADY, counting, counters_only=True)

    assert slug_of(outcome) == "baseline-lacks-counter"


@pytest.mark.parametrize("steps", [0.0, 20_000.0])
def test_a_baseline_without_steps_is_compared_by_its_rates(steps):
    outcome = against(
        STEADY,
        lambda side, pair: a_measured_run(side, pair, 1000 + pair, steps=steps),
        steps=(0.0,) * 12,
    )

    assert outcome.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("head", "verdict"),
    [(1000, Verdict.PASS), (700, Verdict.REGRESSION)],
    ids=["as fast", "slower"],
)
def test_head_is_held_against_what_was_saved(head, verdict):
    outcome = against(STEADY, rates(1, head))

    assert outcome.verdict is verdict
    assert {run.side for run in outcome.runs} == {Side.HEAD}
    assert outcome.rates(Side.BASE) == tuple(STEADY)


def test_a_baseline_of_other_work_is_not_compared():
    other = against(STEADY, rates(1, 1000), steps=(5_000.0,) * 12)

    assert slug_of(other) == "different-steps"
    assert len(other.runs) == 2, "it shows before the first look"
    assert slug_of(against(STEADY, rates(1, 1000), source="--steps-from")) == "different-units"


def test_another_machine_is_refused_unless_it_is_accepted():
    here = {**MACHINE, "cores": "4", "torch": "2.5.1"}

    assert check_machine(a_baseline(), Path("perf.json"), MACHINE, is_relaxed=False) == ()
    with pytest.raises(MeasureError, match=r"cores: 8 then, 4 now; torch: 2\.4\.0 then") as refused:
        check_machine(a_baseline(), Path("perf.json"), here, is_relaxed=False)
    (note,) = check_machine(a_baseline(), Path("perf.json"), here, is_relaxed=True)

    assert refused.value.slug == "baseline-other-machine"
    assert note.slug == "machine-relaxed"


def saved(runs: Runs, *, counters_only: bool = False) -> Baseline:
    return measure_baseline(
        a_program(Side.HEAD),
        ListedRuns(runs),
        runs=3,
        machine=MACHINE,
        commit="abc1234",
        tell=lambda _line: None,
        counters_only=counters_only,
    )


def logging_from_the_second_run_on(side: Side, pair: int) -> MeasuredRun:
    counters = {"processes": 0.0001, "log_records": 0.5 if pair > 1 else 0.0}
    return a_measured_run(side, pair, 1000 + pair, counters=counters)


def test_a_baseline_has_every_run():
    baseline = saved(logging_from_the_second_run_on)

    assert baseline.sps == (1001, 1002, 1003)
    assert baseline.counters_per_step["log_records"] == (0.0, 0.5, 0.5)


def test_a_baseline_tells_what_was_counted_and_did_not_occur():
    counters = saved(logging_from_the_second_run_on).counters_per_step

    assert counters["gpu_syncs"] == (0.0, 0.0, 0.0)
    assert counters.keys() == COST_COUNTERS.keys() - TOLD_ON_DEMAND


def test_where_no_process_carried_the_agent_nothing_was_zero():
    baseline = saved(lambda side, pair: a_measured_run(side, pair, counters={"processes": 0.0}))

    assert baseline.counters_per_step == {}


def test_a_baseline_of_counters_alone_has_no_rates():
    baseline = saved(logging_from_the_second_run_on, counters_only=True)

    assert baseline.sps == ()
    assert baseline.steps == (20_000,) * 3
    assert baseline.counters_per_step["log_records"] == (0.0, 0.5, 0.5)


def test_a_run_without_a_rate_leaves_a_baseline_without_rates():
    baseline = saved(lambda side, pair: a_measured_run(side, pair, 1000 if pair > 1 else None))

    assert (baseline.sps, len(baseline.steps)) == ((), 3)
