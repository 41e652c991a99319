"""Loops that go through the same data again: followed from a call to the loop, and left alone where anything else may be given."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from rlprof.syntax.epochs import Epochs, RunningLine, epochs_around
from rlprof.syntax.module import SourceModule


def found(text: str) -> Epochs | None:
    """The epochs around ``teacher(...)``; who calls its function is on the line that ends with ``# calls``."""
    module = SourceModule(ast.parse(dedent(text)))
    lines = dedent(text).splitlines()
    asking = next(i for i, line in enumerate(lines, 1) if "teacher(" in line)
    calling = [i for i, line in enumerate(lines, 1) if line.endswith("# calls")]
    (asked,) = (
        (statement, call)
        for statement in module.statements_at(asking)
        for call in statement.calls()
        if ast.unparse(call.func).endswith("teacher")
    )
    places = [RunningLine(module, module.function_at(line), line) for line in (asking, *calling)]
    return epochs_around(places, *asked)


IN_ONE_FUNCTION = """
def update(teacher, obs, n):
    for epoch in range(n):
        order = torch.randperm(len(obs))
        for start in range(0, len(obs), 64):
            rows = order[start : start + 64]
            some = obs[rows].float()
            goal = teacher(some)
"""
IN_ANOTHER = """
class Tuner:
    def loss(self, ids, old):
        with torch.no_grad():
            ref = scores(self.teacher(ids)[0], ids)
        return ref - old

    def iterate(self, ids, old):
        for _ in range(5):
            for rows in torch.randperm(32).split(16):
                loss = self.loss(ids[rows], old[rows])  # calls
                loss.backward()
"""
WHOLE = """
def update(teacher, memory):
    for _ in range(4):
        goal = teacher(memory.obs)
"""


@pytest.mark.parametrize(
    ("text", "data", "level"),
    [(IN_ONE_FUNCTION, "obs", 0), (IN_ANOTHER, "ids", 1), (WHOLE, "memory.obs", 0)],
    ids=["in one function", "in another", "all at once"],
)
def test_data_are_followed_to_the_loop_that_changes_none_of_them(text, data, level):
    epochs = found(text)

    assert epochs is not None
    assert (epochs.data, epochs.level) == ({data}, level)
    assert ast.unparse(epochs.loop.iter).startswith("range(")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("obs[rows].float()", "noisy(obs[rows])"),
        ("obs[rows].float()", "obs[rows] + torch.randn(64, 4)"),
        ("order = torch", "obs = collect(); order = torch"),
        ("order = torch", "obs[0] = 1.0; order = torch"),
        ("some = obs[rows].float()", "some = obs[rows] * epoch"),
        ("            goal", "            if start: goal"),
        ("for start in range(0, len(obs), 64):", "if True:"),
        ("for start in range(0, len(obs), 64):", "for rows, obs in loader:"),
        ("for epoch in range(n):", "for epoch in episodes:"),
    ],
    ids=[
        "computed by a function that is not read",
        "noise of its own each time",
        "collected anew",
        "written into",
        "others in each epoch",
        "not in each turn",
        "rows that no loop goes through",
        "data of the loop itself",
        "a loop that does more than count",
    ],
)
def test_nothing_is_told_where_others_may_be_given(before, after):
    assert before in IN_ONE_FUNCTION

    assert found(IN_ONE_FUNCTION.replace(before, after)) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("loss.backward()", "ids = collect()"),
        ("loss.backward()", "ids[rows] = 0"),
        ("self.loss(ids[rows]", "self.loss(self.memory.sample(16)"),
        ("self.loss(ids[rows], old[rows])", "self.loss(ids[rows], self.loss(ids[rows], old))"),
    ],
    ids=["collected anew", "written into", "drawn from a memory", "called twice"],
)
def test_nor_where_who_calls_may_give_others(before, after):
    assert before in IN_ANOTHER

    assert found(IN_ANOTHER.replace(before, after)) is None
