from __future__ import annotations

import textwrap

import pytest

from rlprof.source.caught_errors import caught_at, why_anomalies_are_looked_for
from rlprof.syntax.module import parse

TEXT = """
class Agent:
    def __init__(self, p):
        self.d = Categorical(p)

    def act(self, obs):
        return Categorical(obs)

def main(agent):
    while True:
        step(agent)

def step(agent):
    {step}
"""
ACT = "return Categorical"


def caught(text: str, piece: str = ACT, error: str = "ValueError") -> tuple[str, int] | None:
    text = textwrap.dedent(text)
    module = parse(text)
    assert module is not None
    line = text[: text.index(piece)].count("\n") + 1
    return caught_at({"train.py": module}, [("train.py", line)], error)


def around(block: str) -> str:
    return TEXT.format(step=block.replace("\n", "\n    "))


CATCHING = [
    "try:\n    agent.act(1)\nexcept ValueError:\n    agent.reset()",
    "try:\n    agent.act(1)\nexcept (KeyError, ValueError):\n    pass",
    "try:\n    agent.act(1)\nexcept Exception as error:\n    print(error)",
    "try:\n    agent.act(1)\nexcept:\n    pass",
    "with contextlib.suppress(ValueError):\n    agent.act(1)",
]
OTHERS = [
    "agent.act(1)",
    "try:\n    agent.act(1)\nexcept KeyError:\n    pass",
    "try:\n    agent.act(1)\nfinally:\n    pass",
    "try:\n    agent.act(1)\nexcept ValueError:\n    print(1)\n    raise",
    "try:\n    agent.other(1)\nexcept ValueError:\n    pass\nagent.act(1)",
    "try:\n    agent.other(1)\nexcept KeyError:\n    agent.act(1)\nexcept ValueError:\n    pass",
    "with open('a'):\n    agent.act(1)",
]


@pytest.mark.parametrize("block", CATCHING)
def test_a_handler_around_a_call_that_leads_to_the_place(block):
    assert caught(around(block)) is not None


@pytest.mark.parametrize("block", OTHERS)
def test_what_catches_nothing_of_it(block):
    assert caught(around(block)) is None


def test_a_handler_around_the_place_itself():
    text = TEXT.format(step="agent.act(1)").replace(
        ACT,
        "try:\n            return Categorical(obs)\n        except ValueError:\n            return None",
    )
    text = text.replace("        return Categorical(obs)\n\n", "")

    assert caught(text, "return Categorical") == ("train.py", 9)


def test_an_object_is_made_by_the_name_of_its_class():
    block = "try:\n    agent = Agent(1)\nexcept ValueError:\n    pass"

    assert caught(around(block), "self.d =") is not None


def test_a_handler_around_the_whole_training_is_none():
    text = (
        around("agent.act(1)")
        + "\ntry:\n    main(1)\nexcept Exception as error:\n    print(error)\n"
    )

    assert caught(text) is None


PASSES = """
def update(net, batch, opt):
    loss = net(batch)
    {step}
    opt.step()

for batch in batches:
    update(net, batch, opt)
"""


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (
            "try:\n        loss.backward()\n    except RuntimeError:\n        return",
            "the program catches what the detection raises, and goes on (train.py:6)",
        ),
        ("try:\n        loss.backward()\n    except ValueError:\n        return", ""),
        ("loss.backward()", ""),
    ],
)
def test_what_the_anomaly_detection_raises_may_be_caught(step: str, why: str):
    module = parse(PASSES.format(step=step))
    assert module is not None

    assert why_anomalies_are_looked_for({"train.py": module}) == why
