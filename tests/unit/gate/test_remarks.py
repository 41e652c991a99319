"""From where on a check says something besides its verdict: just below it says nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from rlprof.gate.comparability import on_counters, on_passed_rates, on_runs
from rlprof.gate.outcome import Verdict
from rlprof.gate.program import Side
from rlprof.model.recording import Note
from tests.check_factory import a_measured_run

BASE = a_measured_run(Side.BASE, counters={"log_records": 1.0})
HEAD = a_measured_run(Side.HEAD, counters={"log_records": 1.0})


def slugs(notes: Iterable[Note]) -> list[str]:
    return [it.slug for it in notes]


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
