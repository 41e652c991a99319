"""The functions by which parts of training are entered, and the plan that frees a training of each."""

from __future__ import annotations

import pytest

from rlprof.experiments.base import PythonCallee
from rlprof.experiments.parts import (
    LEAST_SHARE,
    MOST_FUNCTIONS,
    PartOfTraining,
    parts_of,
)
from rlprof.experiments.plan import Plan, plan_ceilings
from rlprof.profile.build import build_profile
from rlprof.recording.mailboxes.treatment_desk import as_bytes
from tests.factories import RunBuilder, a_run

LOOP = "train.py:9 main"
ACT = "agent.py:4 Agent.act"
UPDATE = "agent.py:40 Agent.update"
STEP = "my_env.py:30 GridWorld.step"
RESET = "my_env.py:12 GridWorld.reset"
PHYSICS = "physics.py:4 integrate"


def a_training(*, steady_s: float = 10.0) -> RunBuilder:
    """Half of it in the environment, three tenths in updates, two tenths in the policy."""
    run = a_run("train.py", steady_s=steady_s).process("main", steps=100 * steady_s)
    run.spends(0.3 * steady_s, LOOP, STEP, PHYSICS)
    run.spends(0.2 * steady_s, LOOP, STEP)
    run.spends(0.3 * steady_s, LOOP, UPDATE)
    return run.spends(0.2 * steady_s, LOOP, ACT)


def parts(run: RunBuilder) -> list[PartOfTraining]:
    recording = run.recording()
    return [*parts_of(recording, build_profile(recording))]


def test_the_dearest_part_comes_first_with_the_function_that_enters_it():
    environment, learning, inference = parts(a_training())

    assert (environment.component, environment.share) == ("environment", pytest.approx(0.5))
    # What it calls goes with it.
    assert environment.functions == (PythonCallee("my_env.py", 30, "step"),)
    assert (learning.component, learning.functions[0].name) == ("learning", "update")
    assert (inference.component, inference.functions[0].name) == ("inference", "act")


def test_of_several_functions_the_heaviest_is_first_and_the_light_ones_are_left_out():
    run = a_run("train.py").process("main", steps=1000).spends(5.0, LOOP, STEP)
    run.spends(4.0, LOOP, RESET).spends(0.5, LOOP, "my_env.py:90 GridWorld.render")

    (environment,) = parts(run)

    assert [function.name for function in environment.functions] == ["step", "reset"]


def test_of_many_functions_some_are_enough():
    run = a_run("train.py").process("main", steps=1000)
    for number in range(6):
        run.spends(1.5, LOOP, f"env_{number}.py:30 Maze{number}Env.step")

    (environment,) = parts(run)

    assert len(environment.functions) == MOST_FUNCTIONS


def test_a_function_that_is_called_from_two_places_is_one():
    run = a_run("train.py").process("main", steps=1000).spends(3.0, LOOP, STEP)
    run.spends(3.0, "train.py:20 evaluate", STEP).spends(4.0, LOOP, RESET)

    (environment,) = parts(run)

    assert [function.name for function in environment.functions] == ["step", "reset"]


def test_a_part_that_takes_next_to_nothing_is_not_worth_a_try():
    seldom = 10 * (LEAST_SHARE - 0.01)
    run = a_run("train.py").process("main", steps=1000)
    run.spends(10 - seldom, LOOP, STEP).spends(seldom, LOOP, ACT)

    assert [part.component for part in parts(run)] == ["environment"]


def test_a_training_whose_stacks_say_nothing_has_none():
    assert parts(a_run("train.py").process("main", steps=1000).spends(10.0, LOOP)) == []


# The plan


def test_each_part_is_planned_as_a_ceiling():
    plan = plan_ceilings(a_training().recording())

    assert (plan.is_steady, plan.counter) == (True, "steps")
    environment, *others = plan.findings
    (option,) = environment.options
    assert (environment.finding, environment.rank) == ("", 1)
    assert environment.title == "environment takes 50 % of the time"
    assert environment.place == "my_env.py:30"
    assert (environment.low, environment.high) == (pytest.approx(0.5), pytest.approx(0.5))
    assert (option.treatment, option.kind) == ("free-environment", "ceiling")
    assert option.does == ("answers step from memory, so that environment costs next to nothing")
    assert option.parts == [
        {
            "way": "call",
            "what": "from-memory",
            "file": "my_env.py",
            # Any line of it: samples tell of no other.
            "line": 30,
            "name": "step",
            "within": 1,
        }
    ]
    assert [each.options[0].treatment for each in others] == ["free-learning", "free-inference"]
    assert [each.rank for each in others] == [2, 3]


def test_what_it_asks_for_can_be_handed_over():
    for planned in plan_ceilings(a_training().recording()).findings:
        assert as_bytes(planned.options[0].parts)


def test_a_part_of_two_words_has_an_id_of_one():
    run = a_run("train.py").process("main", steps=1000).spends(5.0, LOOP, STEP)
    run.spends(5.0, LOOP, "buffer.py:7 ReplayBuffer.sample_batch")

    treatments = {each.options[0].treatment for each in plan_ceilings(run.recording()).findings}

    assert treatments == {"free-environment", "free-data-preparation"}


def test_a_short_steady_phase_is_waited_for():
    assert plan_ceilings(a_training(steady_s=4.0).recording()) == Plan(is_steady=False)
