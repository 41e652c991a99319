"""Yield what a statement evaluates itself, without the statements in its body."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rlprof.source.slices.names import bodies_of
from rlprof.syntax.nodes import own_expressions, single_targets


def expressions_of(node: ast.stmt) -> Iterator[ast.AST]:
    """Yield what a statement evaluates itself, less plain targets."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from map(_index_of, targets)
            yield value
        case ast.AnnAssign(target=target, value=value):
            yield _index_of(target)
            if value is not None:
                yield value
        case ast.Import() | ast.ImportFrom() | ast.Global() | ast.Nonlocal():
            return
        case _:
            yield from own_expressions(node)


def _index_of(target: ast.expr) -> ast.AST:
    """Return what assigning to ``target`` reads: the index of an item."""
    parts: list[ast.expr] = []
    for each in single_targets(target):
        while isinstance(each, ast.Subscript | ast.Attribute):
            if isinstance(each, ast.Subscript):
                parts.append(each.slice)
            each = each.value
    return ast.Tuple(parts, ast.Load())


def as_read(target: ast.expr) -> ast.expr:
    """The value of what is added to: it is read before it is written."""
    match target:
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
        case ast.Attribute(value=value, attr=name):
            return ast.Attribute(value, name, ast.Load())
        case ast.Subscript(value=value, slice=index):
            return ast.Subscript(value, index, ast.Load())
    return target


def own_lines(node: ast.stmt) -> range:
    """The lines of a statement; of one with a body, those of its header."""
    last = node.end_lineno or node.lineno
    first = next((inner.lineno for inner in bodies_of(node)), None)
    if first is not None:
        last = max(node.lineno, min(last, first - 1))
    return range(node.lineno, last + 1)
