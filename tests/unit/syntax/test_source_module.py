from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.syntax.module import SourceModule, parse

AGENT = """\
import numpy as np


class Agent:
    def act(self, q):
        if not q:
            return 0
        best = max(
            q,
            key=q.get,
        )
        for arm in q:
            if arm == best:
                self.count(arm)
        return [
            arm
            for arm in q
        ]

    def train(self):
        def inner():
            pass

        while self.going():
            with self.lock, open("x"):
                inner()
"""


def the_module(text: str = AGENT) -> SourceModule:
    module = parse(text)
    assert module is not None
    return module


@pytest.mark.parametrize(
    ("line", "node"),
    [(1, ast.Import), (4, ast.ClassDef), (5, ast.FunctionDef), (6, ast.If), (7, ast.Return),
     (8, ast.Assign), (10, ast.Assign), (13, ast.If), (14, ast.Expr), (25, ast.With)],
)  # fmt: skip
def test_the_innermost_statement_of_a_line(line, node):
    statement = the_module().statement_at(line)

    assert statement is not None
    assert isinstance(statement.node, node)


@pytest.mark.parametrize("line", [0, 2, 3, 19, 999, -1])
def test_a_line_without_a_statement_has_none(line):
    assert the_module().statement_at(line) is None


@pytest.mark.parametrize(
    ("line", "qualname"),
    [(5, "Agent.act"), (14, "Agent.act"), (22, "Agent.train.<locals>.inner"), (26, "Agent.train")],
)
def test_the_innermost_function_of_a_line(line, qualname):
    function = the_module().function_at(line)

    assert function is not None
    assert function.qualname == qualname


def test_a_line_of_the_module_is_in_no_function():
    assert the_module().function_at(1) is None


@pytest.mark.parametrize(
    ("line", "looped"),
    [
        (8, False),
        (12, False),
        (13, True),
        (14, True),
        (16, True),
        (24, True),
        (25, True),
        (26, True),
    ],
)
def test_lines_that_a_loop_or_a_comprehension_runs(line, looped):
    assert the_module().in_loop(line) is looped


def test_a_function_defined_in_a_loop_is_not_run_by_it():
    module = the_module("for i in x:\n    def f():\n        return 1\n")

    assert not module.in_loop(3)


def test_a_statement_knows_the_tests_it_runs_under():
    statement = the_module().statement_at(14)

    assert statement is not None
    assert [ast.unparse(test) for test in statement.conditions] == ["q", "arm == best"]


def test_what_follows_a_return_on_a_condition_runs_where_that_does_not_hold():
    module = the_module("def f(step):\n    if step % 100:\n        return\n    save()\n")

    statement = module.statement_at(4)

    assert statement is not None
    assert [ast.unparse(test) for test in statement.conditions] == ["not step % 100"]


def test_the_guard_of_a_script_is_no_condition():
    module = the_module('if __name__ == "__main__":\n    save()\n')

    statement = module.statement_at(2)

    assert statement is not None
    assert not statement.conditions


def test_a_compound_statement_owns_its_header_only():
    statement = the_module().statement_at(25)

    assert statement is not None
    assert [ast.unparse(expression) for expression in statement.expressions()] == [
        "self.lock",
        "open('x')",
    ]


def test_statements_of_match_and_try_are_found():
    text = (
        "match x:\n    case 1:\n        a()\ntry:\n    b()\nexcept E:\n    c()\nfinally:\n    d()\n"
    )
    module = the_module(text)

    for line in (3, 5, 7, 9):
        statement = module.statement_at(line)
        assert statement is not None
        assert isinstance(statement.node, ast.Expr)


@pytest.mark.parametrize("text", ["def f(:\n", "x = '\0'", "(" * 5_000 + ")" * 5_000, "\udcff"])
def test_what_cannot_be_parsed_is_none(text):
    assert parse(text) is None


def test_a_doubtful_escape_warns_nobody():
    assert parse("pattern = '\\d'\n") is not None


@given(st.lists(st.sampled_from(["x = 1", "if x:\n y()", "for i in x:\n y()", "def f():\n y()"])))
def test_every_statement_is_found_on_its_first_line_or_has_a_body_there(parts):
    module = the_module("\n".join(parts) + "\n")

    for statement in module.statements:
        at = module.statement_at(statement.first_line)
        assert at is not None
        assert at.first_line <= statement.first_line <= at.last_line


@pytest.mark.parametrize(
    "text",
    [
        " + ".join(f"row[{number}]" for number in range(400)),
        "batch" + ".add(1)" * 400,
        "f(x=" * 90 + "row" + ")" * 90,
        "a < (b" * 80 + ")" * 80,
        "[x for x in " * 70 + "row" + "]" * 70,
        "not " * 300 + "done",
        "0x" + "f" * 5_000,
    ],
    ids=["a sum", "a chain", "calls", "comparisons", "comprehensions", "nots", "a number"],
)
def test_what_is_nested_too_deep_to_be_read_is_cut(text):
    module = parse(f"total = {text}\nleft = 1\n")

    assert module is not None
    for statement in module.statements:
        for node in statement.walk():
            assert not isinstance(node, ast.expr) or ast.unparse(node)
    assert ast.unparse(module.statements[1].node) == "left = 1"


def test_statements_come_by_line_whatever_they_are_in():
    text = """\
for row in rows:
    with open(row) as file:
        odds = file.read()
    held[row] = odds
    if held: last = row
"""

    lines = [statement.first_line for statement in parse(text).statements]

    assert lines == [1, 2, 3, 4, 5, 5]
