from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping

import pytest

from rlprof.source.message_values import MessageValues
from rlprof.syntax.module import parse
from tests.value_factory import a_value

TEXT = textwrap.dedent(
    """
    import json
    from collections import defaultdict
    import numpy as np
    from reports import summary

    VISITS = defaultdict(int)

    def entropy(p):
        return -(p * np.log(p)).sum()

    def counted(p):
        CALLS.append(p)
        return p.sum()

    class Agent:
        def described(self, p):
            return f"{p.mean()} of {entropy(p)}"

        @property
        def width(self):
            "Its layers are as wide."
            return self.layers[0]

        @property
        def epsilon(self):
            self.left *= 0.99
            return self.left

        def norm(self):
            self.asked = True
            return 1.0

        def step(self, log, p, queue, rng):
            log.debug(HERE)
    """
)
LINE = TEXT[: TEXT.index("HERE")].count("\n") + 1


def working(value: str, seen: Mapping[str, str] | None = None) -> list[str]:
    module = parse(TEXT)
    assert module is not None
    known = {operand: a_value(fields) for operand, fields in (seen or {}).items()}
    values = MessageValues(module, module.statement_at(LINE), known)
    return [
        ast.unparse(call.func) for call in values.working_calls(ast.parse(value, mode="eval").body)
    ]


@pytest.mark.parametrize(
    "value",
    [
        "f'{p}'",
        "f'{p.sum():.3f} {len(p)} {str(p)!r}'",
        "' '.join(map(str, p))",
        "' '.join(map(lambda x: str(x), p))",
        "f'{entropy(p)}'",
        "{'a': 1}.get('a')",
    ],
)
def test_what_only_computes(value):
    assert working(value) == []


@pytest.mark.parametrize(
    ("value", "call"),
    [
        ("f'{self.learn(p)}'", "self.learn"),
        ("f'{counted(p)}'", "counted"),
        ("f'{summary(p)}'", "summary"),
        ("f'{rng.normal()}'", "rng.normal"),
        ("f'{queue.get()}'", "queue.get"),
        ("f'{next(p)}'", "next"),
        ("' '.join(map(self.learn, p))", "map"),
        ("f'{p.pop()}'", "p.pop"),
        # The file has a method of that name, which is none of an array's.
        ("f'{self.norm()}'", "self.norm"),
        # Nobody has seen which one it is.
        ("f'{self.described(p)}'", "self.described"),
    ],
)
def test_what_may_do_more(value, call):
    assert working(value) == [call]


def method(name: str, line: int) -> str:
    return f"type=method function=agents.{name} file=/p/agent.py line={line}"


def test_a_method_that_was_seen_to_be_the_one_that_was_read():
    line = TEXT[: TEXT.index("def described")].count("\n") + 1

    assert working("self.described(p)", {"self.described": method("Agent.described", line)}) == []
    assert working("self.described(p)", {"self.described": method("Other.described", 3)}) == [
        "self.described"
    ]


def test_a_method_of_the_programs_with_the_name_of_an_arrays():
    assert working("p.mean()", {"p.mean": method("Table.mean", 3)}) == ["p.mean"]
    in_numpy = "type=builtin_function_or_method function=numpy.ndarray.mean"
    assert working("p.mean()", {"p.mean": in_numpy}) == []


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("f'{(m := p)}'", "a value of its message does more than compute"),
        ("f'{self.learn(p)}'", "self.learn() is called for its message, and may do something else, too"),
        ("f'{p}'", ""),
    ],
)  # fmt: skip
def test_why_a_message_has_to_be_made(value, told):
    module = parse(TEXT)
    assert module is not None

    values = MessageValues(module, module.statement_at(LINE), {})

    assert values.refusal(ast.parse(value, mode="eval").body) == told


@pytest.mark.parametrize(
    ("value", "seen", "may"),
    [
        ("VISITS[p]", {}, True),
        ("self.seen[p]", {"self.seen": "type=collections.defaultdict"}, True),
        ("self.seen[p]", {"self.seen": "type=envs.Counts bases=collections.defaultdict,builtins.dict"}, True),
        ("VISITS[p]", {"VISITS": "type=dict"}, False),
        ("self.seen[p]", {}, False),
        ("self.epsilon", {}, True),
        ("self.width", {}, False),
    ],
)  # fmt: skip
def test_reading_a_key_or_a_property_may_change_something(value, seen, may):
    module = parse(TEXT)
    assert module is not None
    known = {operand: a_value(fields) for operand, fields in seen.items()}

    refusal = MessageValues(module, module.statement_at(LINE), known).refusal(
        ast.parse(f"f'{{{value}}}'", mode="eval").body
    )

    assert refusal == (f"reading {value} for its message may change something" if may else "")
