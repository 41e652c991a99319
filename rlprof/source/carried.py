"""Tell what a loop carries from one turn to the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from rlprof.syntax.module import Statement, called_name, variables_assigned, variables_read
from rlprof.syntax.nodes import assigned, names_in, targets_of

_EXTREMES: Final = frozenset({"max", "min", "maximum", "minimum"})


def carried(statements: Sequence[Statement]) -> frozenset[str]:
    """Variables and containers that a turn reads as the one before left them, sums aside.

    ``statements`` are the loop's, by line. A sum, a product or an extreme of all turns is none of
    these: it can be had of all at once.
    """
    return frozenset(_names(statements)) | frozenset(_containers(statements))


def keeps_state(body: Sequence[Statement]) -> bool:
    """Tell whether a turn makes an attribute of what the turn before has left there: ``self.state = 0.9 * self.state + noise``."""
    read: set[str] = set()
    for statement in body:
        read |= {
            ast.unparse(node)
            for node in statement.walk()
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        }
        for each in assigned(statement.node):
            if isinstance(each.target, ast.Attribute) and ast.unparse(each.target) in read:
                parts = {type(node) for node in ast.walk(each.value)}
                # Sums can be had of all turns at once.
                return ast.Add not in parts or ast.Mult in parts
    return False


def _names(statements: Sequence[Statement]) -> Iterator[str]:
    given = {name for statement in statements for name in _written(statement.node)}
    gathered = {name for statement in statements for name in _gathered(statement.node)}
    known: set[str] = set()
    for statement in statements:
        own = _gathered(statement.node)
        for name in _read(statement) & given - known:
            if name not in own:
                yield name
        for name in _written(statement.node):
            if name not in gathered:
                known.add(name)


def _containers(statements: Sequence[Statement]) -> Iterator[str]:
    """Yield what is written at one index and read at another: ``returns[t] = ... returns[t + 1]``."""
    items = [node for statement in statements for node in statement.walk()]
    places = [
        (ast.unparse(item.value), ast.unparse(item.slice), item.ctx)
        for item in items
        if isinstance(item, ast.Subscript)
    ]
    written = {(name, index) for name, index, use in places if isinstance(use, ast.Store)}
    for name, index, use in places:
        elsewhere = (name, index) not in written
        if (
            isinstance(use, ast.Load)
            and elsewhere
            and name in {container for container, _ in written}
        ):
            yield name


def _read(statement: Statement) -> set[str]:
    found = variables_read(*statement.expressions())
    if isinstance(statement.node, ast.AugAssign):
        found |= _written(statement.node)
    return found


def _written(node: ast.stmt) -> set[str]:
    targets = [node.target] if isinstance(node, ast.AugAssign | ast.For) else targets_of(node)
    return variables_assigned(*targets)


def _gathered(node: ast.stmt) -> set[str]:
    """Return what the statement adds to: ``total += x``, ``total = total + x``, ``best = max(best, x)``."""
    if isinstance(node, ast.AugAssign):
        grows = isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.BitOr | ast.BitAnd)
        inside = names_in(node.value)
        return _written(node) - inside if grows else set()
    if not isinstance(node, ast.Assign):
        return set()
    value = node.value
    parts: list[ast.expr] = []
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        parts = [value.left, value.right]
    elif isinstance(value, ast.Call) and called_name(value) in _EXTREMES:
        parts = value.args
    return _written(node) & {part.id for part in parts if isinstance(part, ast.Name)}
