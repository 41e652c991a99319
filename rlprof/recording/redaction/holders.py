"""Values that are put into things of a telling name: items, attributes, the body of a class, calls of their methods."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, TypeAlias

from rlprof.recording.redaction.names import is_secret_name, last_word
from rlprof.syntax.nodes import assigned

Held: TypeAlias = Iterator[tuple[str, ast.expr]]
"""Names and what the things of that name get."""

_TAKING: Final = frozenset(
    {
        "add",
        "append",
        "appendleft",
        "extend",
        "insert",
        "push",
        "put",
        "set",
        "setdefault",
        "update",
    }
)
"""Methods that keep what they are given."""


def held(node: ast.AST) -> Held:
    """``tokens["prod"] = "…"``, ``self.token.value = "…"``, ``class Secrets``, ``tokens.append("…")``."""
    match node:
        case ast.Assign() | ast.AnnAssign():
            for target, value, _ in assigned(node):
                yield from ((name, value) for name in _owners(target))
        case ast.AugAssign():
            yield from ((name, node.value) for name in _owners(node.target))
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _TAKING:
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
            yield from ((name, value) for name in _names(owner) for value in values)
        case ast.ClassDef() if is_secret_name(last_word(node.name)):
            for statement in node.body:
                yield from ((node.name, value) for _, value, _ in assigned(statement))


def _owners(target: ast.expr) -> Iterator[str]:
    """``token`` and ``self`` of ``self.token.value``."""
    if isinstance(target, ast.Attribute | ast.Subscript):
        yield from _names(target.value)


def _names(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Name():
            yield node.id
        case ast.Attribute():
            yield node.attr
            yield from _names(node.value)
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            yield key
            yield from _names(node.value)
        case ast.Subscript():
            yield from _names(node.value)
