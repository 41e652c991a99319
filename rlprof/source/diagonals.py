"""Matrices that a source file builds with nothing beside their diagonal."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final

from rlprof.syntax.module import SourceModule, called_name, receiver
from rlprof.syntax.nodes import assigned

_BUILDERS: Final = frozenset({"diag", "diag_embed", "diagflat", "eye"})

_KEEP_IT: Final = frozenset(
    {
        "clone",
        "cpu",
        "cuda",
        "detach",
        "double",
        "expand",
        "expand_as",
        "float",
        "repeat",
        "sqrt",
        "to",
        "unsqueeze",
    }
)
"""Methods that leave a diagonal matrix one. ``repeat`` does where it repeats it for a batch, which is what it is for here."""


def takes_diagonals(module: SourceModule, function: str) -> bool | None:
    """Tell whether each call of ``function`` gets a matrix that is surely diagonal, after a first argument that is none.

    ``None`` where the file does not call it.
    """
    calls = [
        node
        for statement in module.statements
        for node in statement.calls()
        if called_name(node) == function
    ]
    if not calls:
        return None
    return all(
        any(_is_diagonal(matrix, module, ()) for matrix in _matrices(call)) for call in calls
    )


def _matrices(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args[1:]
    yield from (keyword.value for keyword in call.keywords)


def _is_diagonal(expression: ast.expr, module: SourceModule, asked: Collection[str]) -> bool:
    """``asked``: names whose values are being looked for already."""
    if isinstance(expression, ast.Call):
        if called_name(expression) in _BUILDERS:
            return True
        owner = receiver(expression)
        keeps = owner is not None and called_name(expression) in _KEEP_IT
        return keeps and owner is not None and _is_diagonal(owner, module, asked)
    if isinstance(expression, ast.BinOp):
        sides = [_is_diagonal(side, module, asked) for side in (expression.left, expression.right)]
        # What is multiplied with zeros beside the diagonal stays so; to add to it takes another diagonal.
        return any(sides) if isinstance(expression.op, ast.Mult) else all(sides)
    if not isinstance(expression, ast.Name | ast.Attribute):
        return False
    name = ast.unparse(expression)
    values = [] if name in asked else list(_values_of(name, module))
    return bool(values) and all(
        value is not None and _is_diagonal(value, module, (*asked, name)) for value in values
    )


def _values_of(name: str, module: SourceModule) -> Iterator[ast.expr | None]:
    """Yield all that is assigned to ``name`` anywhere in the file; ``None`` for a value that the source does not show."""
    for statement in module.statements:
        for target, value, is_unpacked in assigned(statement.node):
            if ast.unparse(target) == name:
                yield None if is_unpacked else value
        if isinstance(statement.node, ast.AugAssign) and ast.unparse(statement.node.target) == name:
            yield None
