from __future__ import annotations

import ast

import pytest

from rlprof.syntax.nodes import (
    assigned,
    calls_in,
    given_to,
    items_of,
    lines_of,
    made_each_turn,
    mapped,
    names_in,
    owner_of,
    single_targets,
    targets_of,
)


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


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def test_calls_and_names_are_those_anywhere_in_the_parts():
    parts = [statement("for x in env.step(a): f(g(x))"), expression("h()")]

    assert [ast.unparse(call) for call in calls_in(*parts)] == [
        "env.step(a)",
        "f(g(x))",
        "g(x)",
        "h()",
    ]
    assert names_in(*parts) == {"x", "env", "a", "f", "g", "h"}


def test_a_call_tells_what_it_is_given_and_whose_method_it_is():
    call = next(calls_in(expression("x.mean(1, axis=2)")))

    assert [ast.unparse(each) for each in given_to(call)] == ["1", "2"]
    assert [ast.unparse(each) for each in owner_of(call)] == ["x"]
    assert owner_of(next(calls_in(expression("mean(x)")))) == []


def test_a_compound_statement_has_the_lines_of_its_body():
    assert lines_of(statement("\nfor x in y:\n    f(\n        x)\n")) == range(2, 5)


@pytest.mark.parametrize(
    ("text", "items"), [("a[0, 1]", ["0", "1"]), ("a[0]", ["0"]), ("a[[0, 1]]", ["[0, 1]"])]
)
def test_an_index_has_the_items_of_its_tuple(text, items):
    assert [ast.unparse(item) for item in items_of(expression(text).slice)] == items


def test_a_comprehension_of_a_dictionary_makes_two():
    assert [ast.unparse(made) for made in made_each_turn(expression("{k: v for k in x}"))] == [
        "k",
        "v",
    ]
    assert len(made_each_turn(expression("[k for k in x]"))) == 1


@pytest.mark.parametrize(
    ("text", "loop"),
    [
        ("map(act, rows)", "(act(item0) for item0 in rows)"),
        (
            "map(self.act, rows, keys)",
            "(self.act(item0, item1) for item0, item1 in zip(rows, keys))",
        ),
        ("map(lambda x: act(x), rows)", "(act(x) for x in rows)"),
        ("pool.map(act, rows)", None),
        ("map(act)", None),
    ],
)
def test_a_map_is_the_loop_that_it_makes(text: str, loop: str | None):
    found = mapped(expression(text))

    assert (found and ast.unparse(found)) == loop
