from __future__ import annotations

import ast

import pytest

from rlprof.syntax.nodes import assigned, single_targets, targets_of


def statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


def pairs(text: str) -> list[str]:
    """Each target with its value, ``<`` where it gets a part of it."""
    return [
        f"{ast.unparse(pair.target)} {'<' if pair.is_unpacked else '='} {ast.unparse(pair.value)}"
        for pair in assigned(statement(text))
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("obs = env.reset()", ["obs = env.reset()"]),
        ("self.obs: Array = env.reset()", ["self.obs = env.reset()"]),
        ("first = last = 0", ["first = 0", "last = 0"]),
        ("obs, done = start, False", ["obs = start", "done = False"]),
        ("[obs, done] = [start, False]", ["obs = start", "done = False"]),
        ("obs, info = env.reset()", ["obs < env.reset()", "info < env.reset()"]),
        ("(a, b), c = step(), 0", ["a < step()", "b < step()", "c = 0"]),
        ("a, (b, c) = step()", ["a < step()", "b < step()", "c < step()"]),
        # Nobody counts here how many the star takes.
        ("a, *b = 1, 2, 3", ["a < (1, 2, 3)", "*b < (1, 2, 3)"]),
        ("rewards: list[float]", []),
        ("total += reward", []),
    ],
)
def test_each_target_comes_with_its_value(text, told):
    assert pairs(text) == told


def test_targets_are_those_of_an_assignment_as_written():
    assert [ast.unparse(target) for target in targets_of(statement("a = b, c = x"))] == [
        "a",
        "(b, c)",
    ]
    assert [ast.unparse(target) for target in targets_of(statement("a: int"))] == ["a"]
    assert targets_of(statement("a += 1")) == []


def test_single_targets_are_all_of_what_is_unpacked():
    (target,) = targets_of(statement("a, (b[0], *c) = x"))

    assert [ast.unparse(single) for single in single_targets(target)] == ["a", "b[0]", "*c"]
