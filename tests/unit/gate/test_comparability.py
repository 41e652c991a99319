"""Whether base and head do the same work, and from where on a check says something besides its verdict."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace

import pytest

from rlprof.errors import MeasureError
from rlprof.gate.comparability import (
    Work,
    check_same_steps,
    check_same_unit,
    on_counters,
    on_passed_rates,
    on_runs,
)
from rlprof.gate.decision import Verdict
from rlprof.gate.program import Side
from rlprof.model.recording import Note
from tests.check_factory import a_measured_run


def three_runs(steps: float, rate: float = 1000.0) -> Work:
    return Work("steps", "rlprof.step", [float(steps)] * 3, [rate, rate + 1, rate - 1], [])


def test_what_a_baseline_says_of_its_unit_cannot_begin_a_line():
    with pytest.raises(MeasureError) as refused:
        check_same_unit(
            Work("steps\n::error::", "rlprof.step", [], [], []), Work("steps", "a\rb", [], [], [])
        )

    assert refused.value.slug == "different-units"
    assert refused.value.message.isprintable()


@pytest.mark.parametrize(
    ("steps", "is_same"), [(19_610, True), (20_400, True), (19_600, False), (20_410, False)]
)
def test_two_in_a_hundred_steps_may_be_a_last_rollout(steps, is_same):
    refused = nullcontext() if is_same else pytest.raises(MeasureError, match="20 000 steps")

    with refused:
        check_same_steps(three_runs(20_000), three_runs(steps))


@pytest.mark.parametrize(("rate", "is_same"), [(760.0, True), (880.0, False)])
def test_another_rate_explains_other_steps_where_it_differs_likewise(rate, is_same):
    refused = nullcontext() if is_same else pytest.raises(MeasureError, match="head 15 000")

    with refused:
        check_same_steps(three_runs(20_000), three_runs(15_000, rate))


# --- remarks ------------------------------------------------------------------------------------

BASE = a_measured_run(Side.BASE, counters={"log_records": 1.0})
HEAD = a_measured_run(Side.HEAD, counters={"log_records": 1.0})


def slugs(notes: Iterable[Note]) -> list[str]:
    return [note.slug for note in notes]


@pytest.mark.parametrize(("waiting", "told"), [(0.099, []), (0.101, ["waited-in-turns"])])
def test_a_tenth_of_its_turns_a_run_may_wait(waiting, told):
    assert slugs(on_runs([BASE, replace(HEAD, waiting=waiting)])) == told


@pytest.mark.parametrize(("wall_s", "told"), [(11.99, []), (12.01, ["longer-runs"])])
def test_a_fifth_longer_runs_of_head_may_take(wall_s, told):
    runs = [replace(BASE, wall_s=10.0), replace(HEAD, wall_s=wall_s)]

    assert slugs(on_passed_rates(runs)) == told


@pytest.mark.parametrize(
    ("steps", "told"),
    [(19_610, []), (20_400, []), (19_600, ["other-steps"]), (20_410, ["other-steps"])],
)
def test_two_in_a_hundred_steps_counted_runs_may_differ_by(steps, told):
    head = a_measured_run(Side.HEAD, steps=steps)

    assert slugs(on_counters(Verdict.INCONCLUSIVE, [BASE, head], ())) == told
