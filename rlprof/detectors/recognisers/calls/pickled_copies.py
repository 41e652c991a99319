"""Objects copied by way of bytes: what ``pickle.dumps`` makes comes to ``pickle.loads`` of the same program, on one line or by names and functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rlprof.source.lines import UserLines, last_name
from rlprof.source.values import Values, callee
from rlprof.syntax.bound_inputs import arguments_given
from rlprof.syntax.module import Function, SourceModule, Statement, called_name
from rlprof.syntax.nodes import assigned, calls_in, given_to

_PICKLING: Final = frozenset({"pickle", "cloudpickle", "dill"})
"""Packages, and the module in C, whose ``dumps`` and ``loads`` these are."""
_MOST_STEPS: Final = 6
"""Assignments, returns and calls on the way of bytes."""

_Place = tuple[str, int]


class _CodeAround(NamedTuple):
    """A statement, with what is known where it stands."""

    file: str
    module: SourceModule
    statement: Statement

    @property
    def places(self) -> set[_Place]:
        return {(self.file, line) for line in self.statement.lines}


class PickledCopies:
    """Tells the lines that copy so."""

    def __init__(self, lines: UserLines, values: Values, files: Iterable[str]) -> None:
        self._values = values
        modules = {file: module for file in files if (module := lines.module(file)) is not None}
        called = {
            called_name(call) for module in modules.values() for call in calls_in(module.tree)
        }
        self._scopes = [
            _CodeAround(file, module, statement)
            for file, module in modules.items()
            for statement in module.statements
            if {"dumps", "loads"} <= called
        ]
        self._functions: dict[str, list[tuple[str, Function]]] = defaultdict(list)
        for file, function in {(each.file, each.statement.function) for each in self._scopes}:
            if function is not None:
                self._functions[function.node.name].append((file, function))
        self._bytes: dict[tuple[str, ...], set[_Place]] = defaultdict(set)
        """Where the bytes were made that a name, or what a function returns, stands for."""
        self.places = self._found() if self._scopes else frozenset()
        """Files and lines."""

    def _found(self) -> frozenset[_Place]:
        for _ in range(_MOST_STEPS):
            known = sum(map(len, self._bytes.values()))
            for scope in self._scopes:
                self._follow(scope)
            if known == sum(map(len, self._bytes.values())):
                break
        found: set[_Place] = set()
        for scope in self._scopes:
            for call in scope.statement.calls():
                if call.args and self._pickles(call, "loads", scope):
                    made = self._made_at(call.args[0], scope)
                    found |= made | (scope.places if made else set())
        return frozenset(found)

    def _follow(self, scope: _CodeAround) -> None:
        node = scope.statement.node
        for each in assigned(node):
            if not each.is_unpacked and isinstance(each.target, ast.Name | ast.Attribute):
                self._bytes[_key(each.target, scope)] |= self._made_at(each.value, scope)
        match node:
            case ast.Return(value=ast.expr() as value) if scope.statement.function is not None:
                name = scope.statement.function.node.name
                self._bytes["returned by", name] |= self._made_at(value, scope)
        for call in scope.statement.calls():
            is_given = any(self._made_at(each, scope) for each in given_to(call))
            for file, function in self._functions.get(called_name(call), ()) if is_given else ():
                given = arguments_given(scope.module, call, function) or {}
                for parameter, value in given.items():
                    key = (file, function.qualname, parameter)
                    self._bytes[key] |= self._made_at(value, scope)

    def _made_at(self, value: ast.expr, scope: _CodeAround) -> set[_Place]:
        match value:
            case ast.Call():
                if self._pickles(value, "dumps", scope):
                    return scope.places
                return self._bytes.get(("returned by", called_name(value)), set())
            case ast.Name() | ast.Attribute():
                return self._bytes.get(_key(value, scope), set())
        return set()

    def _pickles(self, call: ast.Call, function: str, scope: _CodeAround) -> bool:
        if called_name(call) != function:
            return False
        known = self._values.of(scope.file, scope.statement)
        package, _, name = callee(call, known, scope.module).name.partition(".")
        return package in _PICKLING and last_name(name) == function


def _key(target: ast.Name | ast.Attribute, scope: _CodeAround) -> tuple[str, ...]:
    """A variable of a function, or an attribute of any object."""
    if isinstance(target, ast.Attribute):
        return ("attribute", target.attr)
    function = scope.statement.function
    return (scope.file, function.qualname if function else "", target.id)


def nodes_of_copy(lines: UserLines, node: int) -> Iterator[int]:
    """Yield the line itself and what pickling calls there; what the line calls by its name, ``restore(self.snapshot())``, is work of its own."""
    tree = lines.tree
    statements = lines.statements(tree.frame(node))
    named = {called_name(call) for each in statements for call in each.calls()}
    yield node
    for child in tree.children(node):
        if last_name(tree.frame(child).function) not in named - {"dumps", "loads"}:
            yield from tree.subtree(child)
