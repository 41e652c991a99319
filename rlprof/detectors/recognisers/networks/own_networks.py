"""Loops whose objects each bring a network of their own, so that one call for all rows would ask one network."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from rlprof.source.lines import UserLines, last_name
from rlprof.source.values import Values, asked_network
from rlprof.syntax.ancestors import parents
from rlprof.syntax.changed import chain
from rlprof.syntax.module import (
    Comprehension,
    Function,
    FunctionNode,
    SourceModule,
    called_name,
    variables_assigned,
)
from rlprof.syntax.nodes import arguments_of, assigned, calls_in, positional_of


class _Asking(NamedTuple):
    """A call that asks a network."""

    call: ast.Call
    methods: Sequence[int]
    """Nodes of the program's methods that it calls; none where the network itself is called."""


class OwnNetworks:
    """Tells where a loop asks a network of the turn's own object: ``player.act(row)``, ``head(row)``."""

    def __init__(
        self, lines: UserLines, values: Values, files: Collection[str], asks: Callable[[int], bool]
    ) -> None:
        """``asks`` tells whether a network works at a node or below."""
        self._lines = lines
        self._values = values
        self._asks = asks
        self._files = files

    @cached_property
    def _shared(self) -> frozenset[str]:
        return frozenset(_given_to_several(self._lines.modules(self._files).values()))

    def are_asked(self, node: int, targets: Collection[str]) -> bool:
        """Tell whether all networks that ``node`` asks belong to what the loop's variables ``targets`` stand for."""
        asking = [*self._asking(node)]
        return bool(asking) and all(self._is_own(each, targets) for each in asking)

    def _asking(self, node: int) -> Iterator[_Asking]:
        tree = self._lines.tree
        frame = tree.frame(node)
        methods: dict[str, list[int]] = {}
        for child in tree.children(node):
            if self._method(child) is not None and self._asks(child):
                methods.setdefault(last_name(tree.frame(child).function), []).append(child)
        for statement in self._lines.statements(frame):
            known = self._values.of(frame.file, statement)
            for call in statement.calls():
                called = methods.get(called_name(call), ())
                if called or asked_network(call, known) is not None:
                    yield _Asking(call, called)

    def _method(self, node: int) -> Function | None:
        frame = self._lines.tree.frame(node)
        function = self._lines.function(frame) if self._lines.is_yours(frame) else None
        return function if function is not None and function.class_name else None

    def _is_own(self, asking: _Asking, targets: Collection[str]) -> bool:
        variable, attributes = chain(asking.call.func)
        if variable is None or variable.id not in targets:
            return False
        return self._shared.isdisjoint(attributes) and all(
            map(self._keeps_to_its_own, asking.methods)
        )

    def _keeps_to_its_own(self, method: int) -> bool:
        """Tell whether no network below is one that the method is handed, a global one, or one that several objects were given."""
        for node in self._lines.tree.subtree(method):
            function = self._method(node)
            if function is None:
                continue
            for asking in self._asking(node):
                variable, attributes = chain(asking.call.func)
                if not self._shared.isdisjoint(attributes):
                    return False
                if variable is not None and variable.id not in _own_variables(function):
                    return False
        return True


def _own_variables(function: Function) -> set[str]:
    """Return the object itself, and variables that the method makes."""
    handed = arguments_of(function.node)[1:]
    return {*positional_of(function.node)[:1], *variables_assigned(function.node)}.difference(
        handed
    )


def _given_to_several(modules: Collection[SourceModule]) -> Iterator[str]:
    """Yield the attributes for which several objects of a class are given one and the same when they are made."""
    given_as = {
        function.class_name: (function, _handed_on(function))
        for module in modules
        for function in module.functions
        if function.class_name and function.node.name == "__init__"
    }
    for module in modules:
        above = parents(module)
        times: Counter[tuple[str, str]] = Counter()
        for call in calls_in(module.tree):
            function, attributes = given_as.get(called_name(call), (None, {}))
            for parameter, value in _given(call, function) if function is not None else ():
                attribute = attributes.get(parameter)
                if attribute is None or not isinstance(value, ast.Name | ast.Attribute):
                    continue
                variable, _ = chain(value)
                made = variables_assigned(loop) if (loop := _loop_around(call, above)) else None
                times[attribute, ast.unparse(value)] += 1
                is_same = made is not None and variable is not None and variable.id not in made
                if is_same or (made is None and times[attribute, ast.unparse(value)] > 1):
                    yield attribute


def _handed_on(function: Function) -> Mapping[str, str]:
    """Return the attributes that are parameters of ``__init__`` as they come, by these."""
    return {
        each.value.id: each.target.attr
        for node in ast.walk(function.node)
        for each in assigned(node)
        if isinstance(each.target, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and not each.is_unpacked
    }


def _given(call: ast.Call, function: Function) -> Iterator[tuple[str, ast.expr]]:
    yield from zip(positional_of(function.node)[1:], call.args, strict=False)
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)


def _loop_around(node: ast.AST, above: Mapping[ast.AST, ast.AST]) -> ast.AST | None:
    """Return the innermost loop of the same function around ``node``."""
    while (outer := above.get(node)) is not None and not isinstance(outer, FunctionNode):
        if isinstance(outer, ast.For | ast.While | Comprehension):
            return outer
        node = outer
    return None
