"""What a run counted per step, and where that cannot be known."""

from __future__ import annotations

import pytest

from rlprof.errors import MeasureError
from tests.factories import RunBuilder, a_run


def a_training(*, python: str = "3.11.7") -> RunBuilder:
    return a_run("train.py", steady_s=10.0).process("main", steps=10_000, python=python)


def a_run_that_prints_its_rate() -> RunBuilder:
    run = a_run("train.py", steady_s=10.0).process("main").counts("log_records", 50)
    return run.gauge("output_sps", *[100.0] * 10)


def test_what_was_asked_for_and_is_zero_is_told_so_that_a_baseline_has_it(counted):
    assert "gc_collections" not in counted(a_training())
    assert counted(a_training(), asked=("gc_collections",))["gc_collections"] == 0


def test_nothing_is_known_per_step_of_a_run_that_prints_its_rate_alone(counted):
    assert counted(a_run_that_prints_its_rate()) == {}


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (a_training(python=""), "none of its processes carried rlprof's agent"),
        (a_run_that_prints_its_rate(), "prints its rate and not its steps"),
    ],
)
def test_what_cannot_be_known_is_no_zero(counted, run, why):
    with pytest.raises(MeasureError, match=why) as error:
        counted(run, needs_counters=True)

    assert error.value.slug == "counters-unseen"


@pytest.mark.parametrize(("python", "slug"), [("", "counters-unseen"), ("3.11.7", "no-steps")])
def test_steps_that_nobody_could_count_are_told_from_those_that_nobody_made(counted, python, slug):
    """As of a command that replaces ``PYTHONPATH``, on which the agent is."""
    with pytest.raises(MeasureError) as error:
        counted(a_run("train.py", steady_s=10.0).process("main", python=python))

    assert error.value.slug == slug
