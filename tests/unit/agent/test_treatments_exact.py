"""What is a gain leaves a training as it is, bit by bit, however often it is switched on and off."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from rlprof.experiments.discovered import treatments
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart, TreatmentState
from tests.treated_program import Program, Try

STEPS = 60

TRAINING = """
import logging
import random

import numpy as np
import torch

logger = logging.getLogger("exact.train")


class Env:
    def __init__(self):
        self.rng = np.random.default_rng(3)

    def step(self, actions):
        noise = [self.rng.normal(size=4) for _ in range(8)]
        return [each + action for each, action in zip(noise, actions)], [float(x) for x in actions]


class Trainer:
    def __init__(self):
        torch.manual_seed(1)
        random.seed(2)
        self.env = Env()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.01)
        self.actions = [0.0] * 8
        self.kept = []

    def act(self, states):
        mean, spread = self.net(states.float()).unbind(1)
        return torch.distributions.Normal(mean, spread.exp())

    def worth(self, states):
        mean, _ = self.net(states.float()).unbind(1)
        return mean.detach()

    def step(self):
        states, rewards = self.env.step(self.actions)
        states = torch.tensor(states)
        rewards = torch.as_tensor(rewards)
        actions = self.act(states)
        worth = self.worth(states)
        taken = actions.sample()
        loss = (actions.log_prob(taken) * (rewards - worth + random.random() - 0.5)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.actions = taken.tolist()
        logger.debug(f"loss {loss.item():.3f} of {states}, {self.net[0].weight}")
        torch.cuda.empty_cache()
        # Cycles, which the collector finds.
        node = [states]
        node.append(node)
        self.kept = [node, *self.kept[:3]]

    def result(self):
        return [each.detach().numpy().tobytes() for each in self.net.parameters()]
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    pytest.importorskip("torch")
    logging.getLogger("exact.train").setLevel(logging.INFO)
    return Program(tmp_path, TRAINING)


def _array_parts(program: Program) -> list[TreatmentPart]:
    step = program.Trainer.step
    lines = [program.line("= torch.tensor("), program.line("= torch.as_tensor(")]
    more = {"call": "torch.tensor torch.as_tensor", "lines": " ".join(map(str, lines))}
    return [program.edit("arrays-first", step, "= torch.tensor(", **more)]


def _array_call(program: Program) -> list[TreatmentPart]:
    line = program.line("= torch.tensor(")
    lines = {"from_file": str(program.path), "from_line": line, "to_line": line}
    return [
        {"way": "call", "what": "arrays-first", "module": "torch", "attribute": "tensor", **lines}
    ]


EXACT: dict[str, Callable[[Program], list[TreatmentPart]]] = {
    "lazy-log-text": lambda p: [p.edit("if-logged", p.Trainer.step, "logger.debug")],
    "one-array-first": _array_parts,
    "one-array-first-call": _array_call,
    "no-distribution-checks": lambda _: [{"way": "setting", "what": "distribution-checks"}],
    "no-gradients": lambda p: [p.edit("without-gradients", p.Trainer.step, "worth = ")],
    "no-gradients-in-call": lambda p: [p.call("without-gradients", p.Trainer.worth)],
    "no-anomaly-checks": lambda _: [{"way": "setting", "what": "anomaly-mode"}],
    "frozen-collector": lambda _: [{"way": "setting", "what": "collector"}],
    "kept-gpu-memory": lambda _: [
        {
            "way": "call",
            "what": "every",
            "module": "torch.cuda.memory",
            "qualname": "empty_cache",
            "every": 10**9,
        }
    ],
}

OTHER_DIGITS = {"fused-optimizer", "other-algorithm-search", "one-torch-thread", "quick-float32"}
"""They compute the same in another order or with fewer digits: results differ in low digits, as with the fix itself."""

ELSEWHERE = {
    "environments-in-process",
    "kept-workers",
    "loaders-with-workers",
    "pauses-between-questions",
    "plain-configuration",
    "tasks-one-by-one",
}
"""They treat workers, pools, queues and configurations, which this training has none of: their own tests look at the answers."""


def test_every_gain_is_exact_or_known_not_to_be():
    gains = {each.id for each in treatments() if each.kind is TreatmentKind.GAIN}

    assert gains == EXACT.keys() | OTHER_DIGITS | ELSEWHERE


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list:UserWarning")
@pytest.mark.parametrize("name", EXACT)
def test_weights_are_the_same_bit_by_bit(name, program):
    untreated = program.Trainer()
    for _ in range(STEPS):
        untreated.step()

    treated, its_try = program.Trainer(), Try()
    thresholds = gc.get_threshold()
    assert its_try.arm(*EXACT[name](program)).state is TreatmentState.OFF
    for number in range(STEPS):
        its_try.want(number % 2 == 1)
        treated.step()
    told = its_try.turn()
    its_try.leave()

    assert told.state is TreatmentState.ON
    assert told.reached >= STEPS // 2
    assert treated.result() == untreated.result()
    assert (gc.get_threshold(), gc.get_freeze_count()) == (thresholds, 0)
