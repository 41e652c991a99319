"""A check of pairs from its first run to its verdict, with runs that are read off a list."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.errors import (
    EXIT_INCONCLUSIVE,
    EXIT_NOT_MEASURED,
    EXIT_OK,
    EXIT_REGRESSION,
)
from rlprof.gate.decision import DecisionSettings, Verdict
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import exit_code
from rlprof.gate.program import Side
from tests.check_factory import (
    ListedRuns,
    Runs,
    a_measured_run,
    a_program,
    checked,
    failing_in,
    rates,
    slug_of,
    unsteady,
)


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
    assert [counter.name for counter in outcome.failing_counters] == ["log_records"]
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
    assert outcome.notes == (), "it has been said"


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
    ("verdict", "code"),
    [
        (Verdict.PASS, EXIT_OK),
        (Verdict.REGRESSION, EXIT_REGRESSION),
        (Verdict.INCONCLUSIVE, EXIT_INCONCLUSIVE),
        (Verdict.COULD_NOT_MEASURE, EXIT_NOT_MEASURED),
    ],
)
def test_exit_codes(verdict, code):
    outcome = replace(checked(rates(1000, 1000)), verdict=verdict)

    assert exit_code(outcome) == code
    assert exit_code(replace(outcome, stopped_by=15)) == 143


@pytest.mark.parametrize("code", [EXIT_OK, EXIT_REGRESSION])
def test_an_inconclusive_check_and_no_other_may_count_as_pass_or_failure(code):
    inconclusive, failed = checked(unsteady), checked(failing_in(1, rates(1000, 1000)))

    assert exit_code(inconclusive, inconclusive=code) == code
    assert exit_code(failed, inconclusive=code) == EXIT_NOT_MEASURED


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
