"""What a turn of a loop may change."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from rlprof.syntax.module import SourceModule, parse
from rlprof.syntax.operands import Operand, operand_of
from rlprof.syntax.turn_changes import TurnChanges

PROGRAM = """
import numpy as np
import torch.nn.functional as F

class Learner:
    def __init__(self):
        self.net, self.opt = build()
        self.mean = np.zeros(4)

    def fit(self, batch, obs):
        for epoch in range(4):
            {turn}

    def update(self, obs):
        loss = F.mse_loss(self.net(obs), self.targets(obs))
        loss.backward()
        self.opt.step()
        self.losses.append(loss)

    def targets(self, obs):
        return (obs - self.mean).sum(1)

    def shift(self, obs):
        self.mean = self.mean + obs.mean(0)

    def clip(self, rows):
        rows[rows > 9] = 9

    def pass_on(self, rows):
        self.clip(rows)

def scale(rows, by):
    rows *= by
    return rows

def relabel(learner):
    learner.goal.name = "far"
"""


def module_of(turn: str) -> SourceModule:
    found = parse(PROGRAM.format(turn=turn.replace("\n", "\n            ")))
    assert found is not None
    return found


def operands(*texts: str) -> list[Operand]:
    found = [operand_of(ast.parse(text, mode="eval").body) for text in texts]
    return [it for it in found if it is not None]


def leaves(turn: str, *texts: str, attributes: str = "", beside: str = "") -> bool:
    module = module_of(turn)
    loop = next(it for it in ast.walk(module.tree) if isinstance(it, ast.For))
    other = parse(dedent(beside))
    assert other is not None
    changes = TurnChanges([module, other])
    assert not changes.others_may_write
    return changes.leaves(module, loop, operands(*texts), frozenset(attributes.split()))


@pytest.mark.parametrize(
    ("turn", "inputs"),
    [
        ("self.update(obs)", ["obs", "self.mean"]),
        ("self.update(batch['obs'])", ["batch['obs']", "self.mean"]),
        ("x = self.targets(obs)\nx += 1", ["obs", "self.mean"]),
        ("self.losses.append(obs.mean())", ["obs", "self.mean"]),
        ("y = scale(obs.copy(), 2) if False else 0", ["batch", "self.mean"]),
        ("rows = obs * 2\nself.clip(rows)", ["obs", "self.mean"]),
        ("print(epoch, self.targets(obs))", ["obs"]),
    ],
)
def test_what_is_only_read_stays(turn: str, inputs: list[str]):
    assert leaves(turn, *inputs)


@pytest.mark.parametrize(
    ("turn", "changed"),
    [
        ("obs = self.net(obs)", "obs"),
        ("obs[0] = 1", "obs"),
        ("obs += 1", "obs"),
        ("obs.add_(1)", "obs"),
        ("batch['obs'] = 1", "batch['obs']"),
        ("batch.obs[:] = 0", "batch"),
        ("batch.obs[:] = 0", "batch.obs"),
        ("view = obs\nview[0] = 1", "obs"),
        ("for row in obs:\n    row[0] = 1", "obs"),
        ("np.random.shuffle(obs)", "obs"),
        ("np.add(obs, 1, out=obs)", "obs"),
        ("scale(obs, 2)", "obs"),
        ("scale(by=2, rows=obs)", "obs"),
        ("self.clip(obs)", "obs"),
        ("self.pass_on(obs)", "obs"),
        ("self.pass_on(batch.obs)", "batch.obs"),
        ("self.shift(obs)", "self.mean"),
        ("self.mean = 0", "self.mean"),
        ("self.mean[0] = 0", "self.mean"),
        ("self.normaliser.mean = 0", "self.mean"),
        ("relabel(self)", "self.goal"),
        ("del batch.obs", "batch.obs"),
        ("use(epoch)", "epoch"),
        ("rows = [obs for obs in batch]", "obs"),
    ],
)
def test_what_is_written_changes(turn: str, changed: str):
    assert not leaves(turn, changed)


@pytest.mark.parametrize(
    "turn",
    [
        "self.sync(obs)",
        "pipe.recv()",
        "work = queue.get()",
        "thread.join()",
        "with self.lock:\n    self.update(obs)",
        "time.sleep(1)",
        "dist.all_reduce(obs)",
        "got = yield obs",
    ],
)
def test_what_others_may_do_is_not_known(turn: str):
    assert not leaves(turn, "self.mean")


def test_a_method_of_another_object_may_do_what_it_likes():
    assert leaves("writer.add_scalar('loss', 1)", "self.mean", "obs")


def test_attributes_of_elements_are_inputs_too():
    assert leaves("batch.row = 1", "obs", attributes="column")
    assert not leaves("batch.row = 1", "obs", attributes="row column")


def test_functions_of_other_files_are_read():
    beside = "def push(rows):\n    rows.append(1)\n"

    assert not leaves("push(obs)", "obs", beside=beside)


def test_what_python_calls_without_a_name_is_read():
    beside = "class Net:\n    def forward(self, x):\n        self.mean = x.mean()\n"

    assert not leaves("self.net(obs)", "self.mean", beside=beside)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import threading\nthreading.Thread(target=run).start()\n", True),
        ("from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor()\n", True),
        ("from multiprocessing import shared_memory\nm = shared_memory.SharedMemory('x')\n", True),
        ("z = torch.zeros(3, requires_grad=True)\n", True),
        ("x.share_memory_()\n", True),
        ("import numpy as np\nx = np.zeros(3)\n", False),
    ],
)
def test_threads_shared_memory_and_optimizers_of_plain_tensors(text: str, expected: bool):
    module = parse(text)

    assert module is not None
    assert TurnChanges([module]).others_may_write is expected


def test_attributes_that_a_function_reads_by_way_of_others():
    module = module_of("pass")
    (function,) = [it for it in module.functions if it.qualname == "Learner.update"]

    assert {"mean", "opt", "losses"} <= TurnChanges([module]).attributes_read(function)
