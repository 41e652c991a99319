"""Tell what a hot statement does, in words: the calls that its time is in, and what they work on."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from rlprof.source.callees import calls_compiled
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.module import Statement, called_name
from rlprof.syntax.nodes import given_to

_SHOWN: Final = 4
"""Operands of one call: more do not fit on a line."""
_LONGEST_NAME: Final = 50
_OPERATORS: Final = {
    ast.Add: "adds", ast.Sub: "subtracts", ast.Mult: "multiplies", ast.Div: "divides",
    ast.MatMult: "multiplies matrices:", ast.FloorDiv: "divides", ast.Mod: "takes remainders:", ast.Pow: "raises",
}  # fmt: skip


def operation_in_words(
    statement: Statement, known: Mapping[str, Value], called: Collection[str]
) -> str:
    """Return what the statement does; empty where nothing is known of it. ``called`` are names of functions that its time
    was seen in; where there are none, it is in what is written in C.
    """
    calls = list(statement.calls())
    chosen = [call for call in calls if called_name(call) in called]
    if not chosen:
        chosen = [call for call in calls if calls_compiled(call, known)]
    told = [words for call in chosen[:2] if (words := _call(call, known))]
    told += _texts(statement, known)
    if not told and not called:
        told = list(_arithmetic(statement, known))[:1]
    return "; ".join(told)


def _call(call: ast.Call, known: Mapping[str, Value]) -> str:
    callee = value_of(call.func, known)
    name = _name(call, callee)
    arguments = given_to(call)
    on = [words for argument in arguments if (words := _operand(argument, known))][:_SHOWN]
    if isinstance(call.func, ast.Attribute) and (callee is None or not callee.function):
        owner = value_of(call.func.value, known)
        if owner is not None and owner.type != "module":
            on.insert(0, f"{ast.unparse(call.func.value)}: {owner.in_words()}")
    return f"{name} of {', '.join(on)}" if on else ""


def _name(call: ast.Call, callee: Value | None) -> str:
    written = ast.unparse(call.func)
    if callee is None:
        return written if len(written) <= _LONGEST_NAME else called_name(call)
    if callee.is_network:
        return f"the network {written} ({callee.in_words()})"
    if callee.made:
        return f"a new {callee.made}"
    # What a class of torch's own keeps its functions in says nothing.
    return callee.function.replace("_VariableFunctionsClass.", "") or written


def _operand(expression: ast.expr, known: Mapping[str, Value]) -> str:
    value = value_of(expression, known)
    if value is None or value.function or value.made or value.type == "module":
        return ""
    text = ast.unparse(expression)
    return f"{text}: {value.in_words()}{', longer each time' if value.grows() else ''}"


def _texts(statement: Statement, known: Mapping[str, Value]) -> Iterator[str]:
    """Yield what is formatted into text, where arrays are: of numbers nobody would notice it."""
    formatted = [node.value for node in statement.walk() if isinstance(node, ast.FormattedValue)]
    arrays = [
        _operand(value, known)
        for value in formatted
        if (found := value_of(value, known)) is not None and (found.is_array or found.length)
    ]
    if arrays:
        yield f"text of {', '.join(arrays[:_SHOWN])}"


def _arithmetic(statement: Statement, known: Mapping[str, Value]) -> Iterator[str]:
    for node in statement.walk():
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            sides = [words for side in (node.left, node.right) if (words := _operand(side, known))]
            if sides:
                yield f"{_OPERATORS[type(node.op)]} {', '.join(sides)}"
