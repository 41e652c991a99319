"""repeated-work: what a generator computes anew for each item, though neither it nor who goes through it changes what that depends on."""

from __future__ import annotations

import pytest

from rlprof.detectors.repeated_work import DETECTOR
from tests.factories import a_run
from tests.profile_factory import Script, detect

LEARNER = """
import numpy as np
import torch

class Rollout:
    def __init__(self, steps):
        self.frames = np.zeros((steps, 84, 84), dtype=np.uint8)
        self.actions = {actions}

    def tensors(self):
        flat = lambda rows: rows.reshape(len(rows), -1)
        obs = torch.as_tensor(flat(self.frames)).float().div(255.0)
        return {{"obs": obs, "actions": torch.as_tensor(self.actions)}}

class Learner:
    def minibatches(self, rollout):
        for _ in range(4):
            order = torch.randperm(1024)
            for first in range(0, 1024, 128):
                chosen = order[first:first + 128]
                yield {{name: rows[chosen] for name, rows in rollout.tensors().items()}}

    def update(self, rollout):
        for batch in self.minibatches(rollout):
            loss = torch.nn.functional.mse_loss(self.net(batch["obs"]), batch["actions"])
            loss.backward()
            self.optimizer.step()
            {more}
"""


SAME = "yield {{name: rows[chosen] for name, rows in rollout.tensors().items()}}"


NETWORK = "type=torch.nn.modules.container.Sequential bases=torch.nn.modules.module.Module"


def told(
    more: str = "pass",
    actions: str = "np.zeros(steps)",
    others: str = "",
    yields: str = SAME,
) -> list[str]:
    """Titles, where ``more`` is done with each minibatch, and the file has ``others``."""
    text = LEARNER.replace(SAME, yields).format(more=more, actions=actions) + others
    script = Script("ppo.py", text)
    converts = script.at("obs = torch.as_tensor", "Rollout.tensors")
    stack = (
        "train.py:3 train",
        script.at("for batch in self.minibatches", "Learner.update"),
        script.at("in rollout.tensors()", "Learner.minibatches"),
        converts,
    )
    run = (
        a_run(steady_s=10.0)
        .process("main", steps=1000)
        .source("train.py", "for _ in range(9):\n    x = 1\n    learner.update(rollout)\n")
    )
    run.sees(converts, self__frames="type=numpy.ndarray shape=1024,84,84 dtype=u1")
    run.sees(script.at("loss = torch", "Learner.update"), self__net=NETWORK)
    run.spends(4.0, *stack).spends(6.0, "train.py:3 train")
    return [finding.title for finding in detect(DETECTOR, run, script)]


def test_is_told_at_the_line_that_yields():
    assert told() == ["tensors is computed anew in each turn (ppo.py:20)"]


@pytest.mark.parametrize(
    "more",
    [
        "rollout.frames[0] = 0",
        "rollout.frames = self.fresh",
        "self.refill(rollout)",
        "if loss.item() > 1.0: break",
        "return loss",
    ],
    ids=["changes a part", "another array", "nobody knows", "ends early", "returns"],
)
def test_silent_where_who_goes_through_it_may_make_a_difference(more: str):
    assert told(more) == []


def test_silent_where_the_generator_is_handed_on():
    assert (
        told(
            others="\ndef first(learner, rollout):\n    return next(learner.minibatches(rollout))\n"
        )
        == []
    )


def test_silent_where_optimizers_may_move_an_input_that_nobody_saw():
    assert told(actions="torch.nn.Parameter(torch.zeros(steps))") == []


def test_silent_where_what_is_computed_is_written_to():
    in_place = "yield {{name: rows.add_(1) for name, rows in rollout.tensors().items()}}"

    assert told(yields=in_place) == []
