from __future__ import annotations

from textwrap import dedent

import pytest

from rlprof.detectors.recognisers.growing import Addition, additions
from rlprof.syntax.module import parse


def found(text: str) -> list[Addition]:
    module = parse(dedent(text))
    assert module is not None
    return additions(module)


def containers(text: str) -> list[str]:
    return [addition.container for addition in found(text)]


AGENT = """
class Agent:
    def __init__(self):
        self.losses = {made}

    def learn(self, batch):
        self.losses.append(self.loss(batch))
        {then}
"""


def test_an_attribute_that_a_method_adds_to():
    (addition,) = found(AGENT.format(made="[]", then="pass"))

    assert addition == Addition("self.losses", "self.loss(batch)", 7, "Agent.learn", False)


@pytest.mark.parametrize(
    ("made", "then"),
    [
        ("deque(maxlen=100)", "pass"),
        ("[]", "self.losses.clear()"),
        ("[]", "self.losses = []"),
        ("[]", "x, self.losses = f()"),
        ("[]", "x = self.losses.pop(0)"),
        ("[]", "del self.losses[:-100]"),
        ("[]", "self.losses[:] = self.losses[-100:]"),
    ],
)
def test_what_is_bounded_emptied_or_begun_anew_does_not_grow(made, then):
    assert containers(AGENT.format(made=made, then=then)) == []


def test_objects_of_other_kinds_may_bound_themselves():
    text = """
    buffer = ReplayBuffer(size=1000)
    while True:
        buffer.append(step())
        log.add(1)
    """

    assert containers(text) == []


def test_a_field_of_a_dataclass_is_an_attribute():
    text = """
    @dataclass
    class Log:
        rows: list[int] = field(default_factory=list)

        def write(self, row):
            self.rows.append(row)
    """

    assert containers(text) == ["self.rows"]


def test_what_a_set_up_adds_it_adds_once():
    assert (
        containers(
            "class A:\n    def __init__(self):\n        self.layers = []\n        self.layers.append(1)\n"
        )
        == []
    )


def test_a_variable_grows_by_a_loop_around_it():
    text = """
    seen, rows, once = set(), [], []
    count = 0
    once.append(1)
    for step in range(10):
        seen.add(step)
        rows += [step]
        count += 1
    """

    assert containers(text) == ["seen", "rows"]


def test_a_list_of_each_turn_is_none():
    text = """
    while True:
        rollout = []
        for step in range(10):
            rollout.append(step)
    """

    assert containers(text) == []


def test_a_functions_own_list_is_told_from_the_modules():
    text = """
    HISTORY = []

    def train(envs):
        returns = []
        for env in envs:
            returns.append(env.run())
            HISTORY.append(env.log())

    def once(x):
        mine = []
        mine.append(x)
    """

    assert [(addition.container, addition.is_local) for addition in found(text)] == [
        ("returns", True),
        ("HISTORY", False),
    ]


def test_a_list_that_is_returned_is_the_callers():
    assert (
        containers(
            "def f(xs):\n    ys = []\n    for x in xs:\n        ys.append(x)\n    return ys\n"
        )
        == []
    )
