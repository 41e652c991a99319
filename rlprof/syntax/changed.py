"""Tell what statements change in place, and which attributes they give other values."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from rlprof.syntax.module import SourceModule
from rlprof.syntax.nodes import assigned, targets_of
from rlprof.syntax.pure_calls import written_by


def changed_in_place(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Yield what is changed in place."""
    for node in nodes:
        match node:
            case ast.AugAssign(target=target):
                yield target
            case ast.Subscript(value=of, ctx=ast.Store() | ast.Del()):
                yield of
            case ast.Attribute(value=of, attr="data"):
                yield of
            case ast.Call():
                yield from written_by(node)


def given_another(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names of the attributes that are given another value, and of what they are parts of."""
    return {
        name
        for node in nodes
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        for name in chain(node)[1]
    }


def chain(node: ast.expr) -> tuple[ast.Name | None, list[str]]:
    """Return the variable, and the attributes on the way, of ``self.net.rows[3]``; no variable where a call is on the way."""
    names: list[str] = []
    current: ast.expr = node
    while isinstance(current, ast.Attribute | ast.Subscript):
        if isinstance(current, ast.Attribute):
            names.append(current.attr)
        current = current.value
    return (current if isinstance(current, ast.Name) else None), names


def values_given(module: SourceModule) -> Iterator[tuple[str, ast.expr]]:
    """Yield the name of each attribute that a statement of the file gives a value, with that; a part of it where several are unpacked."""
    for statement in module.statements:
        for each in assigned(statement.node):
            if isinstance(each.target, ast.Attribute):
                yield each.target.attr, ast.Starred(each.value) if each.is_unpacked else each.value


def assigned_attributes(module: SourceModule) -> Iterator[str]:
    """Yield the names of the attributes that the file assigns, of objects or in the bodies of classes."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                for target in targets_of(part):
                    if isinstance(target, ast.Name):
                        yield target.id
