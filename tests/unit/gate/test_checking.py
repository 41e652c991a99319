"""A check from its first run to its verdict, with runs that are read off a list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rlprof.errors import (
    EXIT_INCONCLUSIVE,
    EXIT_NOT_MEASURED,
    EXIT_OK,
    EXIT_REGRESSION,
    MeasureError,
)
from rlprof.gate.baseline import Baseline
from rlprof.gate.checking import (
    check_machine,
    measure_baseline,
)
from rlprof.gate.counters import CounterTolerance
from rlprof.gate.decision import DecisionSettings
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome, Verdict, exit_code
from rlprof.gate.program import Side
from rlprof.gate.remarks import on_saved_command
from rlprof.model.counters import COST_COUNTERS, TOLD_ON_DEMAND
from tests.check_factory import (
    MACHINE,
    ListedRuns,
    Runs,
    a_baseline,
    a_measured_run,
    a_program,
    checked,
    checked_against,
    failing_in,
    rates,
    unsteady,
)


def slug_of(outcome: Outcome) -> str:
    assert outcome.verdict is Verdict.COULD_NOT_MEASURE
    assert outcome.failure is not None
    return outcome.failure.slug


def test_the_sides_take_turns_in_going_first():
    runner = ListedRuns(rates(1000, 1000))

    checked(runner)

    first = [side for number, (_, side) in enumerate(runner.order) if number % 2 == 0]
    assert first[:4] == ["base", "head", "base", "head"]
    assert [pair for pair, _ in runner.order[:6]] == [1, 1, 2, 2, 3, 3]


def test_in_turns_both_of_a_pair_run_at_once():
    runner = ListedRuns(rates(1000, 1000))

    outcome = checked(runner, in_turns=True)

    assert outcome.verdict is Verdict.PASS
    assert runner.order[:2] == [(1, "base and head"), (2, "head and base")]
    assert len(outcome.runs) == 10


def test_no_more_runs_than_it_takes():
    runner = ListedRuns(rates(1000, 1000))

    outcome = checked(runner)

    assert outcome.verdict is Verdict.PASS
    assert len(runner.order) == 10


def test_a_slower_head_is_confirmed_by_fresh_pairs():
    outcome = checked(rates(1000, 800))

    assert outcome.verdict is Verdict.REGRESSION
    assert outcome.decision is not None
    assert outcome.decision.is_confirming
    assert len(outcome.pairs()) == 10


def test_the_first_look_is_at_so_many_pairs_as_can_decide():
    outcome = checked(rates(1000, 1000), decision=DecisionSettings(max_pairs=20))

    assert (outcome.verdict, len(outcome.pairs())) == (Verdict.PASS, 8)


def test_the_script_of_head_is_known_where_it_is_a_file(tmp_path):
    (tmp_path / "train.py").touch()

    here = checked(rates(1000, 1000), head=replace(a_program(Side.HEAD), folder=tmp_path))
    nowhere = checked(rates(1000, 1000))

    assert (here.script, nowhere.script) == (str(tmp_path.resolve() / "train.py"), "")


def test_rates_that_vary_too_much_are_inconclusive_at_the_cap():
    outcome = checked(unsteady, decision=DecisionSettings(max_pairs=8))

    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert len(outcome.pairs()) == 8


def logging_more(factor: float) -> Runs:
    def run(side: Side, pair: int) -> MeasuredRun:
        records = 0.5 * (factor if side is Side.HEAD else 1)
        return a_measured_run(side, pair, counters={"log_records": records})

    return run


def test_a_counter_four_times_as_high_fails_at_the_first_pair():
    outcome = checked(logging_more(4))

    assert outcome.verdict is Verdict.REGRESSION
    assert [it.name for it in outcome.failing_counters] == ["log_records"]
    assert len(outcome.runs) == 2
    assert outcome.decision is None


@pytest.mark.parametrize(("factor", "verdict"), [(1, Verdict.PASS), (1.3, Verdict.REGRESSION)])
def test_counters_alone_take_two_pairs_and_no_rate(factor, verdict):
    runs = logging_more(factor)

    def without_rate(side: Side, pair: int) -> MeasuredRun:
        return a_measured_run(side, pair, None, counters=runs(side, pair).counters.per_step)

    outcome = checked(without_rate, counters_only=True)

    assert outcome.verdict is verdict
    assert len(outcome.runs) == 4


def test_a_run_that_fails_ends_the_check_and_keeps_what_there_is():
    outcome = checked(failing_in(3, rates(1000, 1000)))

    assert slug_of(outcome) == "program-failed"
    assert len(outcome.runs) == 5
    (*_, whole), half = outcome.pairs()[:2], outcome.pairs()[2]
    assert whole == (2, pytest.approx(1000, rel=0.01), pytest.approx(1000, rel=0.01))
    assert half == (3, pytest.approx(1000, rel=0.01), None)


def test_steps_of_different_sources_are_not_compared():
    outcome = checked(
        lambda side, pair: a_measured_run(
            side, pair, source="rlprof.step" if side is Side.BASE else "gymnasium env"
        )
    )

    assert slug_of(outcome) == "different-units"
    assert len(outcome.runs) == 2


def steps(base: float, head: float, *, slower: float = 1.0) -> Runs:
    def run(side: Side, pair: int) -> MeasuredRun:
        is_head = side is Side.HEAD
        wobble = 1 + 0.002 * (pair % 3)
        return a_measured_run(
            side,
            pair,
            1000 * wobble / (slower if is_head else 1),
            steps=(head if is_head else base) * wobble,
        )

    return run


def test_another_number_of_steps_is_different_work():
    outcome = checked(steps(20_000, 15_000))

    assert slug_of(outcome) == "different-steps"
    assert len(outcome.pairs()) == 3


def test_steps_that_never_vary_are_different_work_sooner():
    outcome = checked(
        lambda side, pair: a_measured_run(side, pair, steps=20_000 + 5_000 * (side is Side.HEAD))
    )

    assert slug_of(outcome) == "different-steps"
    assert len(outcome.pairs()) == 2


@pytest.mark.parametrize(
    "runs",
    [steps(20_000, 20_300), steps(20_000, 10_000, slower=2)],
    ids=["a half filled rollout", "both train for the same time"],
)
def test_steps_that_may_differ(runs):
    assert checked(runs).verdict is not Verdict.COULD_NOT_MEASURE


def test_steps_that_vary_on_both_sides_are_no_different_work():
    def run(side: Side, pair: int) -> MeasuredRun:
        return a_measured_run(side, pair, steps=20_000 + 4_000 * ((pair + (side is Side.HEAD)) % 2))

    assert checked(run).verdict is Verdict.PASS


def test_what_runs_leave_behind_is_told():
    outcome = checked(lambda side, pair: a_measured_run(side, pair, left_behind=pair == 1))

    (note,) = outcome.notes
    assert note.slug == "processes-left-behind"
    assert "2 processes" in note.text


def test_what_waited_in_its_turns_is_told():
    outcome = checked(
        lambda side, pair: a_measured_run(side, pair, waiting=0.5 * (side is Side.HEAD)),
        in_turns=True,
    )

    (note,) = outcome.notes
    assert note.slug == "waited-in-turns"
    assert "in 50 % of its turns" in note.text


@pytest.mark.parametrize(
    ("verdict", "lenient", "code"),
    [
        (Verdict.PASS, None, EXIT_OK),
        (Verdict.REGRESSION, "pass", EXIT_REGRESSION),
        (Verdict.INCONCLUSIVE, None, EXIT_INCONCLUSIVE),
        (Verdict.INCONCLUSIVE, "pass", EXIT_OK),
        (Verdict.INCONCLUSIVE, "fail", EXIT_REGRESSION),
        (Verdict.COULD_NOT_MEASURE, "pass", EXIT_NOT_MEASURED),
    ],
)
def test_exit_codes(verdict, lenient, code):
    outcome = replace(checked(rates(1000, 1000)), verdict=verdict)

    assert exit_code(outcome, on_inconclusive=lenient) == code
    assert exit_code(replace(outcome, stopped_by=15), on_inconclusive=lenient) == 143


# --- against a baseline ---------------------------------------------------------------------


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

    assert [it.name for it in outcome.failing_counters] == ["gpu_syncs"]
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

    assert [it.slug for it in remarks] == ["baseline-other-command"]


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
    assert slug_of(against(STEADY, rates(1, 1000), steps=(5_000.0,) * 12)) == "different-steps"
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


def test_counters_alone_of_other_numbers_of_steps_are_told():
    outcome = checked(
        lambda side, pair: a_measured_run(
            side, pair, None, steps=1000 if side is Side.BASE else 100, counters={"log_records": 1}
        ),
        counters_only=True,
    )

    assert "other-steps" in {note.slug for note in outcome.notes}


def test_a_pass_of_counters_that_saw_nothing_says_so():
    def run(side: Side, pair: int) -> MeasuredRun:
        return a_measured_run(side, pair, counters={"processes": 1e-4})

    (note,) = checked(run, counters_only=True).notes

    assert note.slug == "little-counted"
    assert checked(run).notes == (), "rates were compared as well"


def test_a_pass_whose_runs_take_longer_says_so():
    def run(side: Side, pair: int) -> MeasuredRun:
        wall_s = 20.0 if side is Side.HEAD else 10.0
        return replace(a_measured_run(side, pair), wall_s=wall_s)

    (note,) = checked(run).notes

    assert note.slug == "longer-runs"
    assert "20.0 s from start to end, and those of base 10.0 s" in note.text
