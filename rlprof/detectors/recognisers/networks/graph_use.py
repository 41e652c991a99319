"""Tell what becomes of the graph that a network's call records: read and dropped, returned, or kept.

Followed by name through one function, and through those of the program's own that it is given to. Whatever is not sure to
drop it keeps it: a list that it is appended to may be what ``backward`` starts from, and so may what an unknown function does.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.networks.detached_lists import detached_lists
from rlprof.detectors.recognisers.networks.graph_asked import AskedAtLine, GraphUse, Scope, scope_of
from rlprof.detectors.recognisers.networks.graph_flow import Flow
from rlprof.syntax.module import Function, SourceModule, called_name, parse
from rlprof.syntax.nodes import positional_of

_DEEPEST: Final = 4
"""Functions in one another that the graph is followed into."""

_MOST_ENTERED: Final = 300
"""Functions that the graph of one line is followed into, those entered again included; beyond, it is taken to be kept. Files of a few hundred
functions that call each other, as of torch.nn, took five seconds without it, timed by hand."""

_Entered = tuple[int, frozenset[str], bool]
"""A function, its parameters that come with a part of the graph, and whether unknown ones keep it."""


class GraphUses:
    """The uses of a program's graphs, by line."""

    def __init__(
        self,
        sources: Mapping[str, str],
        own: Mapping[str, str] | None = None,
        networks: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        """``sources`` are the texts of files, ``own`` those of the program's own, ``networks`` what was seen to be one in each, as
        written.
        """
        self._sources = sources
        texts = sources if own is None else own
        self._functions = OwnFunctions(texts.items())
        modules = (parse(text) for text in texts.values())
        self._detached = detached_lists(module for module in modules if module)
        self._networks = networks or {}
        self._at: dict[tuple[str, int, str, bool], GraphUse] = {}
        self._of: dict[_Entered, GraphUse] = {}
        self._running: list[_Entered] = []
        self._is_guess = False
        self._entered = 0

    def at(
        self, file: str, line: int, callee: str = "", *, strangers_keep: bool = True
    ) -> GraphUse:
        """The use of what is given by the function ``callee`` that ``line`` calls, or by a network without such a name.

        Unless ``strangers_keep``, functions that nothing is known of are taken to keep nothing.
        """
        key = (file, line, callee, strangers_keep)
        if key not in self._at:
            self._entered = 0
            self._at[key] = self._look_at(*key)
        return self._at[key]

    def keeps_given(self, file: str, line: int) -> bool:
        """Tell whether the function of ``line`` keeps a part of what it is given; functions that nothing is known of keep nothing."""
        module = parse(self._sources.get(file, ""))
        statement = module.statement_at(line) if module else None
        if module is None or statement is None or statement.function is None:
            return True
        self._entered = 0
        own = OwnFunction(statement.function, module, file)
        given = positional_of(own.function.node)[int(own.is_method) :]
        return self._within(own, frozenset(given), strangers_keep=False) is GraphUse.KEPT

    def _look_at(self, file: str, line: int, callee: str, strangers_keep: bool) -> GraphUse:
        module = parse(self._sources.get(file, ""))
        calls = module.statements_at(line) if module else ()
        if module is None or not calls:
            return GraphUse.KEPT
        if (
            len({id(call.function) for call in calls}) > 1
        ):  # A function and what is in it, on one line.
            calls = calls[-1:]
        if callee.startswith("__") and callee != "__call__":
            return GraphUse.KEPT  # An operator, an index, a new object: no name leads to it.
        asked = AskedAtLine.of(
            [call.node for call in calls],
            (part for call in calls for part in call.walk()),
            callee,
            self._functions.has,
        )
        function = calls[0].function
        scope = self._scope(module, function, file, strangers_keep)
        flow = Flow(scope, asked, frozenset(), self._of_call)
        use = flow.follow(function.node.body if function else module.tree.body)
        return use if flow.was_seen else GraphUse.KEPT

    def _scope(
        self, module: SourceModule, function: Function | None, file: str, strangers_keep: bool
    ) -> Scope:
        return scope_of(
            module,
            function,
            self._networks.get(file, frozenset()),
            strangers_keep=strangers_keep,
            detached=self._detached,
        )

    def _of_call(
        self, call: ast.Call, receiver: bool, held: Sequence[ast.expr], strangers_keep: bool
    ) -> GraphUse | None:
        """Tell how functions of the program use what ``call`` gives them; None where it can mean none of them."""
        uses = {
            self._within(own, given, strangers_keep)
            for own in self._functions.called(call)
            if (given := own.given(call, receiver, held)) is not None
        }
        for use in (GraphUse.KEPT, GraphUse.RETURNED, GraphUse.DROPPED):
            if use in uses:
                return use
        return None

    def _within(self, own: OwnFunction, given: frozenset[str], strangers_keep: bool) -> GraphUse:
        key = (id(own.function.node), given, strangers_keep)
        if key in self._of:
            return self._of[key]
        if key in self._running:
            self._is_guess = True
            return GraphUse.RETURNED  # It calls itself.
        self._entered += 1
        if len(self._running) >= _DEEPEST or self._entered > _MOST_ENTERED:
            self._is_guess = True
            return GraphUse.KEPT
        self._running.append(key)
        scope = self._scope(own.module, own.function, own.file, strangers_keep)
        use = Flow(scope, AskedAtLine(), given, self._of_call).follow(own.function.node.body)
        self._running.pop()
        if not (self._is_guess and self._running):
            self._of[key] = use
            self._is_guess = False
        return use


class OwnFunction(NamedTuple):
    function: Function
    module: SourceModule
    file: str

    @property
    def is_method(self) -> bool:
        return bool(self.function.class_name) and not self.function.is_static

    def given(
        self, call: ast.Call, receiver: bool, held: Iterable[ast.expr]
    ) -> frozenset[str] | None:
        """The parameters that get what is in ``held``, or the object itself with ``receiver``; None where this cannot be what
        ``call`` calls: it takes another number of arguments.
        """
        arguments = self.function.node.args
        names = positional_of(self.function.node)
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
