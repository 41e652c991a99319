"""Lines that torch runs without recording gradients, as far as the text of the file says so."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from rlprof.syntax.module import PARSED_FILES, called_name, parse
from rlprof.syntax.nodes import lines_of

_OFF: Final = frozenset({"no_grad", "inference_mode"})


@lru_cache(maxsize=PARSED_FILES)
def without_gradients(text: str) -> frozenset[int]:
    """The lines within ``with torch.no_grad():`` and of functions decorated with it; ``inference_mode``
    and ``set_grad_enabled(False)`` likewise.
    """
    module = parse(text)
    if module is None:
        return frozenset()
    return frozenset(
        line
        for node in ast.walk(module.tree)
        if isinstance(node, ast.stmt) and any(map(_switches_off, _around(node)))
        for line in lines_of(node)
    )


def switches_off_for_good(text: str) -> bool:
    """Tell whether gradients are switched off by a statement of its own, for all that follows."""
    module = parse(text)
    return module is not None and any(
        isinstance(statement.node, ast.Expr) and _switches_off(statement.node.value)
        for statement in module.statements
    )


def _around(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.With | ast.AsyncWith):
        yield from (item.context_expr for item in node.items)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield from node.decorator_list


def _switches_off(expression: ast.expr) -> bool:
    if isinstance(expression, ast.Call):
        name = called_name(expression)
        if name == "set_grad_enabled":
            given = expression.args[0] if expression.args else None
            return isinstance(given, ast.Constant) and given.value is False
        return name in _OFF
    return isinstance(expression, ast.Attribute | ast.Name) and (
        (expression.attr if isinstance(expression, ast.Attribute) else expression.id) in _OFF
    )
