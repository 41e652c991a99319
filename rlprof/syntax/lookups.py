"""Tell what a file makes only to look something up by it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple

from rlprof.syntax.module import Function, SourceModule, Statement, called_name

_TAKES_KEYS: Final = frozenset({"get", "setdefault", "pop", "add", "discard"})
"""Methods of dictionaries and sets that look up what they are given first."""


class KeyUse(NamedTuple):
    """An expression that something is looked up by."""

    key: ast.expr
    owner: ast.expr | None
    """Object whose method looks it up, which may be anything; None for ``table[key]`` and ``key in table``."""


def keys_in(node: ast.AST) -> Iterator[KeyUse]:
    """Yield the keys of ``table[key]``, ``key in table`` and ``table.get(key)`` that are right at ``node``."""
    match node:
        case ast.Subscript(slice=key) | ast.Compare(left=key, ops=[ast.In() | ast.NotIn()]):
            yield KeyUse(key, None)
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[key, *_]):
            if name in _TAKES_KEYS:
                yield KeyUse(key, owner)


def is_made_for_keys(module: SourceModule, statement: Statement) -> bool:
    """Tell whether what ``statement`` assigns to a variable, or returns, is used for nothing else, and that somewhere."""
    match statement.node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return _is_key(module, name, statement.function)
        case ast.Return() if statement.function is not None:
            return _is_called_for_keys(module, statement.function)
    return False


def _is_key(module: SourceModule, name: str, function: Function | None) -> bool:
    own = module.of_function(function)
    nodes = [node for statement in own for node in statement.walk()]
    loads = [
        node
        for node in nodes
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    keys = {id(use.key) for node in nodes for use in keys_in(node)}
    return bool(loads) and all(id(load) in keys for load in loads)


def _is_called_for_keys(module: SourceModule, function: Function) -> bool:
    name = function.node.name
    if name.startswith("__"):
        return False
    calls = [
        (node, statement)
        for statement in module.statements
        for node in statement.calls()
        if called_name(node) == name
    ]
    return bool(calls) and all(_is_for_keys(module, call, statement) for call, statement in calls)


def _is_for_keys(module: SourceModule, call: ast.Call, statement: Statement) -> bool:
    if any(use.key is call for node in statement.walk() for use in keys_in(node)):
        return True
    match statement.node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
            return _is_key(module, name, statement.function)
    return False
