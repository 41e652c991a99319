"""Turns of a loop that need the answer of the one before: what is asked for, and what is made of the answers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from rlprof.syntax.module import receiver
from rlprof.syntax.nodes import assigned, nodes_in, without_index


def needs_no_other_turn(
    body: Sequence[ast.AST],
    call: ast.Call,
    given: Iterable[ast.AST],
    element: ast.expr,
    *,
    by_any_call: bool = False,
) -> bool:
    """Tell whether what is ``given`` to the asked ``element`` of each turn is made of no answer to ``call``, and every turn is taken.

    Where an answer is dropped, or the element handed to something else, more than the answer may tell the next turn apart. ``by_any_call``:
    what an answer is handed to together with something else may keep it there, whatever is made of the call's result.
    """
    nodes = list(nodes_in(*body))
    if any(isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Lambda) for node in nodes):
        return False
    statements = [node.value for node in nodes if isinstance(node, ast.Expr)]
    own = paths(element)
    for value in statements:
        if value is call:
            return False
        if isinstance(value, ast.Call) and own & paths(*filter(_is_path, value.args)):
            return False
    return not overlap(paths(*given), _answers(nodes, call, by_any_call=by_any_call))


def paths(*nodes: ast.AST) -> set[str]:
    """Return the variables and attributes in ``nodes``, as written: ``self.obs`` of ``self.obs[i]``."""
    found: set[str] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if _is_path(node):
            found.add(ast.unparse(node))
        else:
            pending += ast.iter_child_nodes(node)
    return found


def overlap(some: Iterable[str], others: Iterable[str]) -> bool:
    """Tell whether one of ``some`` is one of ``others``, or part of one, or has one for a part."""
    others = list(others)
    return any(
        path == other or path.startswith(f"{other}.") or other.startswith(f"{path}.")
        for path in some
        for other in others
    )


def _answers(nodes: Sequence[ast.AST], call: ast.Call, *, by_any_call: bool) -> set[str]:
    """Return what holds the answer, or something made of it."""
    stores = [store for node in nodes for store in _stores(node)]
    if by_any_call:
        others = (node for node in nodes if isinstance(node, ast.Call) and node is not call)
        stores += [store for node in others for store in _handed(node)]
    found: set[str] = set()
    while True:
        more = {
            path
            for target, given in stores
            for path in paths(without_index(target))
            if call in ast.walk(given) or overlap(paths(given), found)
        }
        if more <= found:
            return found
        found |= more


def _stores(node: ast.AST) -> Iterator[tuple[ast.expr, ast.AST]]:
    """Yield what ``node`` assigns, adds to or hands to a call that is made for what it does, with what is given."""
    match node:
        case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            yield target, value
        case ast.Expr(value=ast.Call() as call):
            yield from _handed(call)
        case ast.Call(keywords=keywords):
            for keyword in keywords:
                if keyword.arg == "out":
                    yield keyword.value, node
        case _:
            for assignment in assigned(node):
                yield assignment.target, assignment.value


def _handed(call: ast.Call) -> Iterator[tuple[ast.expr, ast.AST]]:
    """Yield the object of a method and what it is given, each of which may keep the others."""
    owner = receiver(call)
    if owner is not None and _is_path(without_index(owner)):
        yield owner, call
    for argument in filter(_is_path, call.args):
        yield argument, call


def _is_path(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
