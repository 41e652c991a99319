"""Expressions that turn values into text there and then."""

from __future__ import annotations

import ast
from typing import Final

from rlprof.syntax.module import called_name

FORMATTERS: Final = frozenset(
    {"str", "repr", "ascii", "format", "join", "array2string", "array_repr", "array_str"}
    | {"dumps", "pformat", "tolist", "to_string", "tabulate"}
)
"""Calls that turn a value into text, or only prepare it for that."""


def is_eager_text(expression: ast.expr) -> bool:
    """Tell whether evaluating ``expression`` formats text there and then."""
    if isinstance(expression, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in expression.values)
    if isinstance(expression, ast.BinOp):
        if isinstance(expression.op, ast.Mod):
            return _is_text(expression.left)
        return isinstance(expression.op, ast.Add) and _is_concatenation(expression)
    if isinstance(expression, ast.IfExp):
        return is_eager_text(expression.body) or is_eager_text(expression.orelse)
    return isinstance(expression, ast.Call) and called_name(expression) in FORMATTERS


def builds_text(value: ast.expr | None) -> bool:
    """The same of a value with a list of texts, too."""
    if isinstance(value, ast.ListComp | ast.GeneratorExp):
        return is_eager_text(value.elt)
    return value is not None and is_eager_text(value)


def _is_text(expression: ast.expr) -> bool:
    return isinstance(expression, ast.JoinedStr) or (
        isinstance(expression, ast.Constant) and isinstance(expression.value, str)
    )


def _is_concatenation(expression: ast.BinOp) -> bool:
    """Tell whether text is among the operands of a chain of ``+``, and not text alone."""
    operands: list[ast.expr] = []
    pending: list[ast.expr] = [expression]
    while pending:
        operand = pending.pop()
        if isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.Add):
            pending += [operand.left, operand.right]
        else:
            operands.append(operand)
    constant = [isinstance(operand, ast.Constant) for operand in operands]
    return not all(constant) and any(
        _is_text(operand) or is_eager_text(operand) for operand in operands
    )
