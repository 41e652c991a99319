"""What a turn of a loop may change."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from rlprof.syntax.module import SourceModule, parse
from rlprof.syntax.operands import Operand, operand_of
from rlprof.syntax.turn_changes import Changes, TurnChanges

PROGRAM = """
import numpy as np
import torch
import torch.nn.functional as F

class Learner:
    def __init__(self, net, opt):
        self.net, self.opt = net, opt
        self.mean = np.zeros(4)
        self.weights = np.zeros(4)
        self.losses = []
        self.shared = self.obs

    def fit(self, batch, obs):
        rows = []
        for epoch in range(4):
            {turn}

    def update(self, obs):
        loss = F.mse_loss(self.net(obs), self.targets(obs))
        loss.backward()
        self.opt.step()
        self.losses.append(1.0)

    def sweep(self, obs):
        error = self.targets(obs)
        self.weights += 0.1 * error
        self.error = error.mean()

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
    return [operand for operand in found if operand is not None]


def changes(turn: str, *texts: str, attributes: str = "", beside: str = "") -> Changes:
    module = module_of(turn)
    loop = next(node for node in ast.walk(module.tree) if isinstance(node, ast.For))
    other = parse(dedent(beside))
    assert other is not None
    read = TurnChanges([module, other])
    assert not read.others_may_write
    return read.leaves(module, loop, operands(*texts), frozenset(attributes.split()), {"net"})


@pytest.mark.parametrize(
    ("turn", "inputs"),
    [
        ("self.sweep(obs)", ["obs", "self.mean"]),
        ("self.sweep(batch['obs'])", ["batch['obs']", "self.mean"]),
        ("x = self.targets(obs)\nx = x + 1", ["obs", "self.mean"]),
        ("rows.append(obs.mean())", ["obs", "self.mean"]),
        ("self.losses.append(obs.mean())", ["obs", "self.mean"]),
        ("print(epoch, self.targets(obs))", ["obs"]),
        ("x = np.random.permutation(4)", ["obs", "self.mean"]),
        ("x = self.opt.rng.normal(size=4)", ["obs", "self.mean"]),
        ("if epoch:\n    self.error = np.abs(obs).max()", ["obs", "self.mean"]),
    ],
)
def test_what_is_only_read_stays(turn: str, inputs: list[str]):
    assert changes(turn, *inputs) is Changes.NOTHING


def test_a_method_that_takes_more_is_not_the_one_that_is_called():
    """``opt.step()`` is none of the environment's ``step(action)``, which nobody could read."""
    world = "class World:\n    def step(self, action):\n        self.link.send(action)\n"

    assert changes("self.opt.step()", "obs", beside=world) is Changes.PARAMETERS
    assert changes("self.opt.step(epoch)", "obs", beside=world) is Changes.MORE


def test_clipping_gradients_is_a_part_of_training():
    clips = "torch.nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)"

    assert changes(clips, "obs", "self.mean") is Changes.PARAMETERS


def test_training_moves_parameters():
    assert changes("self.update(obs)", "obs", "self.mean") is Changes.PARAMETERS


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
        ("np.add(obs, 1, obs)", "obs"),
        ("scale(obs, 2)", "obs"),
        ("scale(by=2, rows=obs)", "obs"),
        ("self.clip(obs)", "obs"),
        ("self.pass_on(obs)", "obs"),
        ("self.shift(obs)", "self.mean"),
        ("self.mean = 0", "self.mean"),
        ("self.mean[0] = 0", "self.mean"),
        ("self.normaliser.mean = 0", "self.mean"),
        ("relabel(self)", "self.goal"),
        ("del batch.obs", "batch.obs"),
        ("print(epoch)", "epoch"),
        ("x = [obs for obs in batch]", "obs"),
        ("self.shared += 1", "obs"),
        ("batch.weights += 1", "obs"),
    ],
)
def test_what_is_written_changes(turn: str, changed: str):
    assert changes(turn, changed) is Changes.MORE


@pytest.mark.parametrize(
    "turn",
    [
        "self.sync(obs)",
        "env.step(epoch)",
        "writer.add_scalar('loss', 1)",
        "with self.lock:\n    self.sweep(obs)",
        "np.save('obs', obs)",
        "got = yield obs",
        "for call in self.callbacks:\n    call(self)",
        "self.moves[epoch](obs)",
        "getattr(self, 'sweep')(obs)",
        "call = self.sweep\ncall(obs)",
        "setattr(self, 'mean', 1)",
        "Node(obs)",
        "break",
        "return obs",
        "while obs:\n    x = 1",
        "try:\n    x = 1\nexcept ValueError:\n    x = 2",
    ],
)
def test_what_was_not_read_may_do_anything(turn: str):
    assert changes(turn, "self.mean") is Changes.MORE


def test_attributes_of_elements_are_inputs_too():
    assert changes("self.row = 1", "obs", attributes="column") is Changes.NOTHING
    assert changes("self.row = 1", "obs", attributes="row column") is Changes.MORE


def test_functions_of_other_files_are_read():
    beside = "def push(rows):\n    rows.append(1)\n"

    assert changes("push(obs)", "obs", beside=beside) is Changes.MORE


@pytest.mark.parametrize(
    ("method", "expected"),
    [("forward", Changes.MORE), ("__getitem__", Changes.MORE), ("__init__", Changes.NOTHING)],
)
def test_what_python_calls_without_a_name_is_read(method: str, expected: Changes):
    beside = f"class Net:\n    def {method}(self, x):\n        self.mean = x.mean()\n"

    assert changes("x = obs[0]", "self.mean", beside=beside) is expected


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
    (function,) = [
        candidate for candidate in module.functions if candidate.qualname == "Learner.update"
    ]

    assert TurnChanges([module]).attributes_read(function) == {"mean", "opt", "losses"}


def test_attributes_of_librarys_objects_and_properties_are_not_kept():
    beside = parse("class A:\n    @property\n    def far(self):\n        return draw()\n")
    assert beside is not None
    read = TurnChanges([module_of("pass"), beside])

    assert read.are_kept({"mean", "shape"})
    assert not read.are_kept({"mean", "qpos"})
    assert not read.are_kept({"far"})
