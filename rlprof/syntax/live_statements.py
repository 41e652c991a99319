"""Read a function as one call of it runs: without the statements that the constants which it is given keep from running."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Final

from rlprof.syntax.bound_inputs import arguments_given
from rlprof.syntax.dependencies import assigned_by
from rlprof.syntax.module import Function, SourceModule
from rlprof.syntax.nodes import defaults_of

_COMPARED: Final[Mapping[type[ast.cmpop], Callable[[object, object], object]]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def constants_given(
    module: SourceModule, call: ast.expr, function: Function
) -> Mapping[str, ast.Constant]:
    """Return the parameters that a call of ``function`` in ``module`` gives constants, or leaves at them, and that keep them."""
    given = arguments_given(module, call, function)
    if given is None:
        return {}
    values = {**defaults_of(function.node.args), **given}
    assigned = assigned_by(function)
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, ast.Constant) and name not in assigned
    }


def live_statements(
    statements: Sequence[ast.stmt], constants: Mapping[str, ast.Constant]
) -> list[ast.stmt]:
    """Return the statements that may run where these variables hold ``constants``; compound ones are copies, all others stay the same objects."""
    live: list[ast.stmt] = []
    for statement in statements:
        is_true = _truth(statement.test, constants) if isinstance(statement, ast.If) else None
        if isinstance(statement, ast.If) and is_true is not None:
            live += live_statements(statement.body if is_true else statement.orelse, constants)
        elif isinstance(statement, ast.For | ast.While | ast.If | ast.With):
            kept = copy(statement)
            kept.body = live_statements(statement.body, constants)
            live.append(kept)
        else:
            live.append(statement)
    return live


def _truth(test: ast.expr, constants: Mapping[str, ast.Constant]) -> bool | None:
    """Tell whether a test holds; None where the constants do not decide it."""
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Name(id=name) if name in constants:
            return bool(constants[name].value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            is_true = _truth(operand, constants)
            return None if is_true is None else not is_true
        case ast.BoolOp(op=op, values=values):
            parts = [_truth(part, constants) for part in values]
            decides = isinstance(op, ast.Or)
            if decides in parts:
                return decides
            return None if None in parts else not decides
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=other)]):
            compared = _COMPARED.get(type(op))
            if name in constants and compared is not None:
                return bool(compared(constants[name].value, other))
    return None
