"""Objects copied by way of bytes: what ``pickle.dumps`` makes comes to ``pickle.loads`` of the same program, on one line or by names and functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from rlprof.source.lines import UserLines, last_name
from rlprof.source.values import Values, callee
from rlprof.syntax.bound_inputs import arguments_given
from rlprof.syntax.module import Function, FunctionNode, SourceModule, Statement, called_name
from rlprof.syntax.nodes import assigned, calls_in
from rlprof.syntax.reached_reads import is_reached

_PICKLING: Final = frozenset({"pickle", "cloudpickle", "dill"})
"""Packages, and the module in C, whose ``dumps`` and ``loads`` these are."""
_MOST_STEPS: Final = 6
"""Assignments, returns and calls on the way of bytes."""

_Place = tuple[str, int]
_Holder = tuple[str, ...]
"""A variable of a function, a parameter, an attribute, or what a function returns."""


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
        modules = lines.modules(files)
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
        self._bytes: dict[_Holder, dict[ast.stmt | None, set[_Place]]] = {}
        """Places where the bytes were made that something stands for; of a variable by the statement that assigns it, or the function whose
        parameter it is."""
        self._others: set[_Holder] = set()
        """Attributes, parameters and functions that stand for something else as well."""
        self._unsure: set[_Holder] = set()
        """Those of them that are known by now: what comes from there may have been sent or stored by another process."""
        self.places = self._found() if self._scopes else frozenset()
        """Files and lines."""

    def _found(self) -> frozenset[_Place]:
        for _ in range(_MOST_STEPS):
            self._follow_all()
            if self._others <= self._unsure:
                break
            self._unsure |= self._others
        found: set[_Place] = set()
        for scope in self._scopes:
            for call in scope.statement.calls():
                if call.args and self._pickles(call, "loads", scope):
                    made = self._made_at(call.args[0], scope)
                    found |= made | (scope.places if made else set())
        return frozenset(found)

    def _follow_all(self) -> None:
        self._bytes = {}
        known = -1
        for _ in range(_MOST_STEPS):
            self._others = set()
            for scope in self._scopes:
                self._follow(scope)
            found = sum(len(made) for by in self._bytes.values() for made in by.values())
            if found == known:
                break
            known = found

    def _follow(self, scope: _CodeAround) -> None:
        node = scope.statement.node
        for each in assigned(node):
            if isinstance(each.target, ast.Name | ast.Attribute):
                by = node if isinstance(each.target, ast.Name) else None
                value = None if each.is_unpacked else each.value
                self._give(_holder(each.target, scope), by, value, scope)
        match node:
            case ast.Return(value=ast.expr() as value) if scope.statement.function is not None:
                name = scope.statement.function.node.name
                self._give(("returned by", name), None, value, scope)
        for call in scope.statement.calls():
            for file, function in self._functions.get(called_name(call), ()):
                given = arguments_given(scope.module, call, function) or {}
                for parameter, value in given.items():
                    holder = (file, function.qualname, parameter)
                    self._give(holder, function.node, value, scope)

    def _give(
        self, to: _Holder, by: ast.stmt | None, value: ast.expr | None, scope: _CodeAround
    ) -> None:
        made = self._made_at(value, scope) if value is not None else set()
        if made:
            self._bytes.setdefault(to, {}).setdefault(by, set()).update(made)
        elif not isinstance(value, ast.Constant) and not isinstance(by, ast.Assign | ast.AnnAssign):
            self._others.add(to)

    def _made_at(self, value: ast.expr, scope: _CodeAround) -> set[_Place]:
        match value:
            case ast.Call():
                if self._pickles(value, "dumps", scope):
                    return scope.places
                return self._held_by(("returned by", called_name(value)))
            case ast.Attribute():
                return self._held_by(_holder(value, scope))
            case ast.Name():
                held = self._bytes.get(_holder(value, scope), {})
                return {
                    place
                    for by, made in held.items()
                    if by is not None and self._reaches(by, value, scope)
                    for place in made
                }
        return set()

    def _held_by(self, holder: _Holder) -> set[_Place]:
        return set() if holder in self._unsure else self._bytes.get(holder, {}).get(None, set())

    def _reaches(self, by: ast.stmt, read: ast.Name, scope: _CodeAround) -> bool:
        is_parameter = isinstance(by, FunctionNode)
        if is_parameter and _holder(read, scope) in self._unsure:
            return False
        return is_reached(scope.module, read, by)

    def _pickles(self, call: ast.Call, function: str, scope: _CodeAround) -> bool:
        if called_name(call) != function:
            return False
        known = self._values.of(scope.file, scope.statement)
        package, _, name = callee(call, known, scope.module).name.partition(".")
        return package in _PICKLING and last_name(name) == function


def _holder(target: ast.Name | ast.Attribute, scope: _CodeAround) -> _Holder:
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
