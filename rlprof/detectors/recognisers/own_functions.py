"""The functions that a program defines, by the names that they are called by."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rlprof.syntax.module import Function, SourceModule, called_name, parse


class OwnFunction(NamedTuple):
    function: Function
    module: SourceModule
    file: str

    @property
    def is_method(self) -> bool:
        return bool(self.function.class_name) and not any(
            isinstance(decorator, ast.Name) and decorator.id == "staticmethod"
            for decorator in self.function.node.decorator_list
        )

    def given(
        self, call: ast.Call, receiver: bool, held: Iterable[ast.expr]
    ) -> frozenset[str] | None:
        """The parameters that get what is in ``held``, or the object itself with ``receiver``; None where this cannot be what
        ``call`` calls: it takes another number of arguments.
        """
        arguments = self.function.node.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        if self.is_method and isinstance(call.func, ast.Name):
            return None
        first = names[: int(self.is_method)]
        names = names[len(first) :]
        graphs = {id(graph) for graph in held}
        every = {*names, *(argument.arg for argument in arguments.kwonlyargs)}
        every |= {argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument}
        found = set(first) if receiver else set()
        if any(isinstance(argument, ast.Starred) for argument in call.args) or any(
            given.arg is None for given in call.keywords
        ):
            return frozenset(found | every) if graphs else frozenset(found)
        if len(call.args) > len(names) and not arguments.vararg:
            return None
        missing = len(names) - len(arguments.defaults) - len(call.args) - len(call.keywords)
        if missing > 0:
            return None
        found.update(
            name for name, value in zip(names, call.args, strict=False) if id(value) in graphs
        )
        if arguments.vararg and any(id(argument) in graphs for argument in call.args[len(names) :]):
            found.add(arguments.vararg.arg)
        for keyword in call.keywords:
            if id(keyword.value) in graphs:
                other = arguments.kwarg.arg if arguments.kwarg else ""
                found.add(keyword.arg if keyword.arg in every and keyword.arg else other)
        return frozenset(found - {""})


class OwnFunctions:
    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        """``texts`` are files and what is in them."""
        self._by_name: dict[str, list[OwnFunction]] = defaultdict(list)
        for file, text in texts:
            module = parse(text)
            if module is None:
                continue
            for function in module.functions:
                self._by_name[function.node.name].append(OwnFunction(function, module, file))

    def has(self, call: ast.Call) -> bool:
        """Tell whether one has the name that ``call`` calls."""
        return called_name(call) in self._by_name

    def called(self, call: ast.Call) -> Iterator[OwnFunction]:
        """Yield those that ``call`` may call: of which class an object is, a text does not tell."""
        yield from self._by_name.get(called_name(call), ())
