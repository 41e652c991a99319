"""Reads that an assignment reaches: of a variable that a function gives several values, those that may have its value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rlprof.syntax.ancestors import parents
from rlprof.syntax.module import Comprehension, SourceModule, variables_assigned


def is_reached(module: SourceModule, read: ast.Name, assignment: ast.stmt) -> bool:
    """Tell whether ``read`` may have what ``assignment`` gave its variable: False where another one is sure to come in between.

    The assignment may be the function around it, for what that is given.
    """
    above = parents(module)
    node: ast.AST = read
    while (outer := above.get(node)) is not None and node is not assignment:
        for before in _before(node, outer):
            if assignment in ast.walk(before):
                return True
            if _assigns(before, read.id):
                return False
        if _binds(outer, node, read.id):
            return False
        if isinstance(outer, ast.For | ast.AsyncFor | ast.While) and assignment in ast.walk(outer):
            return True  # In the turn before.
        node = outer
    return True


def _before(node: ast.AST, outer: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements before ``node`` in its block, the nearest first."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(outer, field, None)
        if isinstance(block, list) and isinstance(node, ast.stmt) and node in block:
            yield from reversed(block[: block.index(node)])


def _binds(outer: ast.AST, node: ast.AST, name: str) -> bool:
    """Tell whether ``outer`` is a loop, or a comprehension, each of whose turns gives the variable another value before it comes to ``node``."""
    match outer:
        case ast.For(target=target, body=body) | ast.AsyncFor(target=target, body=body):
            return node in body and name in variables_assigned(target)
    return isinstance(outer, Comprehension) and any(
        name in variables_assigned(each.target) for each in outer.generators
    )


def _assigns(statement: ast.stmt, name: str) -> bool:
    """Tell whether a statement is sure to give the variable another value."""
    match statement:
        case ast.Assign(targets=targets):
            return name in variables_assigned(*targets)
        case ast.With(body=body):
            return any(_assigns(inner, name) for inner in body)
    return False
