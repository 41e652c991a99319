"""Programs without an environment, whose steps a function makes."""

from __future__ import annotations

import pytest

from tests.factories import a_run
from tests.profile_factory import Script, profile_of

LOOP = Script(
    "grid.py",
    """
    def run(q):
        state = (0, 0)
        while True:
            action = choose(q, state)
            after, reward, over = step(state, action)
            learn(q, state, action, reward, after, over)
            state = START if over else after
    """,
)
SOLVER = Script("grid.py", LOOP.text.replace("state = START if over else after", "show(after)"))
BLIND = Script("grid.py", LOOP.text.replace("choose(q, state)", "choose(q)"))


def told(script: Script, reward: str = "type=float", over: str = "type=bool", steps: int = 0):
    run = a_run("grid.py").process("main", steps=steps).spends(5.0, script.at("learn(", "run"))
    run.sees(script.at("learn(", "run"), reward=reward, over=over)
    return [
        note.text for note in profile_of(run, script).notes if note.slug == "steps-in-a-function"
    ]


def test_a_function_that_steps_is_named_with_its_place():
    (text,) = told(LOOP)

    assert text.startswith("step(state, action) in run (grid.py:5) seems to make a step")
    assert "rlprof.step()" in text


def test_numbers_of_numpy_are_rewards_and_ends_too():
    assert len(told(LOOP, "type=numpy.float64", "type=numpy.bool")) == 1
    assert len(told(LOOP, "type=int", "type=numpy.bool_")) == 1


@pytest.mark.parametrize(
    ("reward", "over"),
    [
        ("type=list length=3", "type=bool"),
        ("type=float", "type=float"),
        ("type=float", "type=dict length=0"),
    ],
)
def test_what_returns_something_else_makes_no_step(reward, over):
    assert told(LOOP, reward, over) == []


def test_what_is_not_given_its_own_result_or_no_action_makes_no_step():
    assert told(SOLVER) == []
    assert told(BLIND) == []


def test_where_steps_are_counted_nothing_is_said():
    assert told(LOOP, steps=1_000) == []
