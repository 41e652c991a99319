"""Arithmetic on arrays of numpy whose elements are Python objects: a loop in C that calls Python's arithmetic for each number."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from rlprof.detectors.recognisers.long_lists import OnList
from rlprof.libraries.base import SlowCall
from rlprof.model.finding import Range
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.module import Statement, called_name

OBJECTS: Final = SlowCall(
    "numpy computes with arrays of Python objects",
    "Make the array one of numbers, once, where it is made: array.astype(np.float32), or table[columns].to_numpy(dtype=np.float32). A single column of "
    "another kind (bool, text, None) makes pandas hand out objects for all.",
    # benchmarks/replaced_calls.py: of 64 numbers 0.42 to 0.95 is left, of 1 440 0.04 to 0.23, of 10 000 0.02 to 0.06.
    Range(0.35, 0.99),
)
OF_MANY: Final = Range(0.8, 0.99)
"""Part that goes of arrays of ``_MANY`` numbers and more."""

_MANY: Final = 1_000
_SOME: Final = 200
"""Numbers from which on it is told."""

_ARITHMETIC: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult)
_REDUCES: Final = frozenset(
    {"mean", "std", "var", "sum", "prod", "max", "min", "dot", "cumsum", "clip", "astype"}
)


def done_to_objects(statement: Statement, known: Mapping[str, Value]) -> OnList | None:
    """Return what ``statement`` computes with an array that was seen to hold objects. Only numbers can be divided or have a mean."""
    found: list[Value] = []
    sizes: list[int] = []
    calls = 0
    for operand, is_of_call in _computed_with(statement, known):
        array = _without_index(operand)
        if (value := _objects(array, known)) is not None:
            calls += is_of_call
            found.append(value)
            sizes += [value.numbers or 0] if array is operand else []
    match statement.node:
        case ast.Assign(targets=[target]) if (made := _objects(target, known)) is not None:
            sizes.append(made.numbers or 0)
    largest = max(found, key=lambda value: value.numbers or 0, default=None)
    if largest is None or (largest.numbers or 0) < _SOME:
        return None
    many = max(sizes, default=0) >= _MANY
    return OnList(OBJECTS, largest.in_words(), calls, OF_MANY if many else None)


def _objects(expression: ast.expr, known: Mapping[str, Value]) -> Value | None:
    value = value_of(expression, known)
    is_of_objects = value is not None and value.fields.get("dtype", "").startswith("O")
    return value if is_of_objects else None


def _computed_with(
    statement: Statement, known: Mapping[str, Value]
) -> Iterator[tuple[ast.expr, bool]]:
    """Yield what arithmetic is done with, and whether a call does it."""
    for node in statement.walk():
        match node:
            case ast.BinOp(left, operator, right) if isinstance(operator, _ARITHMETIC):
                yield left, False
                yield right, False
            case ast.Call(func=ast.Attribute(value=owner)) if called_name(node) in _REDUCES:
                value = value_of(owner, known)
                is_of_module = value is not None and value.type == "module"
                yield from ((each, True) for each in (node.args[:1] if is_of_module else [owner]))


def _without_index(operand: ast.expr) -> ast.expr:
    while isinstance(operand, ast.Subscript):
        operand = operand.value
    return operand
