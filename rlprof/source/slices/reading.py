"""Read what each statement of a program reads, writes and does."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from rlprof.source.slices.headers import as_read, expressions_of, own_lines
from rlprof.source.slices.model import (
    ANY_ATTRIBUTE,
    RETURNED,
    DataFlow,
    DataPlace,
    Doing,
    FlowStep,
    Judge,
)
from rlprof.source.slices.names import (
    NamedFunction,
    NameScope,
    ProgramNames,
    bodies_of,
)
from rlprof.source.slices.networks import holds_network
from rlprof.source.slices.parts import parts_of
from rlprof.syntax.module import FunctionNode, SourceModule, called_name, receiver
from rlprof.syntax.nodes import assigned, calls_in, given_to, is_decorated, nodes_in, single_targets
from rlprof.syntax.pure_calls import written_by

_OPAQUE: Final = frozenset({"globals", "locals", "eval", "exec"})
"""Calls that read or write variables by names which are no words of the source."""
_OF_ANY_ATTRIBUTE: Final = frozenset({"vars", "asdict", "astuple", "_asdict", "attrgetter"})
"""Calls that read attributes so."""
_BY_NAME: Final = frozenset({"getattr", "setattr", "delattr"})

_OF_CHANNELS: Final = frozenset(
    {"send", "recv", "put", "get", "post", "set", "push", "emit", "publish", "submit", "map", "apply"}
    | {"save", "load", "dump", "write", "run", "start", "stop", "join", "wait", "call", "request"}
)  # fmt: skip
"""Methods that a library's objects have as well: on what is not known to be the program's own, a call of one may be of those."""


def read_program(
    modules: Mapping[str, SourceModule], judge: Judge, acting: Collection[str]
) -> DataFlow:
    """Read ``modules``, by file. ``acting`` are names of methods that act, whosever they are: steps of environments and optimizers."""
    names = ProgramNames(modules)
    program = DataFlow(is_opaque=any(map(_is_opaque, modules.values())))
    for file, module in modules.items():
        reading = _Reading(program, names, file, module, judge, acting)
        reading.read_body(module.tree.body, names.of_files[file], None)
    for container, element in program.elements:
        if container in program.deep:
            program.link(container, element)
    return program


def _is_opaque(module: SourceModule) -> bool:
    return any(called_name(call) in _OPAQUE for call in calls_in(module.tree))


def _named_by(call: ast.Call) -> str | None:
    """The attribute that ``getattr`` and the like are given, if it stands there."""
    match call.args:
        case [_, ast.Constant(value=str() as name), *_]:
            return name
    return None


class _Given(NamedTuple):
    """The places in the arguments of a call."""

    by_place: Sequence[Sequence[DataPlace]]
    by_name: Mapping[str | None, Sequence[DataPlace]]
    """None for what is unpacked."""
    is_unpacked: bool
    """True if an argument with a place is."""


class _Reading:
    """Reads one file into a program."""

    def __init__(
        self,
        program: DataFlow,
        names: ProgramNames,
        file: str,
        module: SourceModule,
        judge: Judge,
        acting: Collection[str],
    ) -> None:
        self._program = program
        self._names = names
        self._file = file
        self._imports = module.imports
        self._judge = judge
        self._acting = acting

    # --- statements --------------------------------------------------------------------------

    def read_body(
        self, body: Iterable[ast.stmt], scope: NameScope, around: FlowStep | None
    ) -> None:
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._read_function(node)
                case ast.ClassDef():
                    self.read_body(node.body, scope, around)
                case _:
                    step = self._step(node, scope, around)
                    self.read_body(bodies_of(node), scope, step)

    def _read_function(self, node: FunctionNode) -> None:
        function = self._names.of_node(node)
        key = function.scope.key
        before = len(self._program.steps)
        self.read_body(node.body, function.scope, None)
        if self._names.is_entry(function):
            # Nobody knows what it is given, and what becomes of what it returns.
            given = {DataPlace(key, name) for name in function.scope.parameters}
            for step in self._program.steps[before:]:
                if step.function == key:
                    step.is_asked_for = isinstance(step.node, ast.Return)
                    step.acts |= bool(step.lasting & given)

    def _step(self, node: ast.stmt, scope: NameScope, around: FlowStep | None) -> FlowStep:
        step = FlowStep(node, scope.key, around)
        self._program.steps.append(step)
        for line in own_lines(node):
            self._program.at[self._file, line].append(step)
        for expression in expressions_of(node):
            self._read(expression, scope, step)
        self._read_by_place(node, step)
        match node:
            case ast.Assign() | ast.AnnAssign():
                for each in assigned(node):
                    self._assign(each.target, scope, step)
                self._link_names(node, scope)
            case ast.AugAssign(target=target):
                self._read(as_read(target), scope, step)
                self._assign(target, scope, step)
                self._change(target, scope, step)
            case ast.For(target=target) | ast.AsyncFor(target=target):
                self._assign(target, scope, step)
            case ast.With(items=items) | ast.AsyncWith(items=items):
                for item in items:
                    if item.optional_vars is not None:
                        self._assign(item.optional_vars, scope, step)
            case ast.Delete(targets=targets):
                for target in targets:
                    self._change(target, scope, step)
            case ast.Return():
                step.writes.add(DataPlace(scope.key, RETURNED))
                step.leaves = True
            case ast.Raise() | ast.Break() | ast.Continue():
                step.leaves = True
            case ast.Assert():
                step.acts = True
        return step

    def _assign(self, target: ast.expr, scope: NameScope, step: FlowStep) -> None:
        for each in single_targets(target):
            each = each.value if isinstance(each, ast.Starred) else each
            if isinstance(each, ast.Name):
                place = scope.place(each.id)
                step.writes.add(place)
                if place.scope != scope.key or not scope.key:
                    step.lasting.add(place)
            elif isinstance(each, ast.Attribute):
                self._write_attribute(each.attr, step)
            else:
                self._change(each, scope, step)

    def _write_attribute(self, name: str, step: FlowStep) -> None:
        # Of somebody else's object, or for somebody else.
        step.acts |= name not in self._names.attributes or self._names.may_be_read_by_others(name)
        place = DataPlace("", f".{name}")
        step.writes.add(place)
        step.lasting.add(place)

    def _link_names(self, node: ast.Assign | ast.AnnAssign, scope: NameScope) -> None:
        """Note that an attribute, or the second target of an assignment, may be changed for the first."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        values = [] if node.value is None else [node.value]
        places = [self._named(each, scope) for each in (*targets, *values)]
        if len(targets) > 1 or isinstance(targets[0], ast.Attribute):
            for one, other in pairwise(place for place in places if place is not None):
                self._program.link(one, other)

    def _named(self, expression: ast.expr, scope: NameScope) -> DataPlace | None:
        match expression:
            case ast.Name(id=name) if name not in self._imports:
                return scope.place(name)
            case ast.Attribute(attr=name):
                return DataPlace("", f".{name}")
        return None

    def _change(
        self, target: ast.expr, scope: NameScope, step: FlowStep, *, is_itself: bool = False
    ) -> None:
        """Note that what ``target`` names is changed in place, whoever else has it: an item of it, or with ``is_itself`` the
        object whose method was called.
        """
        parts = parts_of(target, scope, self._names, self._imports, self._judge)
        root = self._named(target, scope)
        if not is_itself and isinstance(target, ast.Subscript):
            root = self._named(target.value, scope)
        self._program.deep |= parts.places - {root}
        step.acts |= not parts.are_all
        step.writes |= parts.places
        step.lasting |= {
            place
            for place in parts.places
            if place.scope != scope.key or not scope.key or place.name in scope.parameters
        }

    # --- expressions -------------------------------------------------------------------------

    def _read(self, node: ast.AST, scope: NameScope, step: FlowStep) -> None:
        self._read_by_place(node, step)
        match node:
            case ast.Call():
                self._read_call(node, scope, step)
                return
            case ast.Name(id=name, ctx=ast.Load()) if name not in self._imports:
                step.reads.add(scope.place(name))
            case ast.Attribute(attr=name):
                self._read_attribute(name, step)
            case ast.NamedExpr(target=target) | ast.comprehension(target=target):
                self._assign(target, scope, step)
            case ast.Yield() | ast.YieldFrom() | ast.Await():
                step.acts = True
        for child in ast.iter_child_nodes(node):
            self._read(child, scope, step)

    def _read_attribute(self, name: str, step: FlowStep) -> None:
        step.reads.add(ANY_ATTRIBUTE if name == "__dict__" else DataPlace("", f".{name}"))
        for function in self._names.properties(name):
            self._run(function, step)

    def _read_by_place(self, node: ast.AST, step: FlowStep) -> None:
        step.reads |= {DataPlace("", f".{name}") for name in self._names.fields_read(node)}

    def _run(self, function: NamedFunction, step: FlowStep) -> None:
        step.runs.add(function.scope.key)
        step.reads.add(DataPlace(function.scope.key, RETURNED))

    def _read_call(self, call: ast.Call, scope: NameScope, step: FlowStep) -> None:
        called = self._names.called(call, self._imports)
        functions = called or self._names.held_by(call.func, scope)
        is_own_class = called_name(call) in self._names.classes
        is_act = self._is_act(call, functions, scope)
        self._read(call.func, scope, step)
        before = set(step.reads)
        for part in given_to(call):
            self._read(part, scope, step)
        if functions and not is_act and not step.acts:
            # What is handed to a function of the program's is needed if its parameter is.
            step.reads = before
        for target in written_by(call):
            self._change(target, scope, step)
        if functions:
            given = _Given(
                [[*self._places_in(each, scope)] for each in call.args],
                {each.arg: [*self._places_in(each.value, scope)] for each in call.keywords},
                any(isinstance(each, ast.Starred) for each in call.args),
            )
            for function in functions:
                self._run(function, step)
                self._hand_over(given, function, is_known=bool(called))
        step.acts |= is_act
        if called_name(call) in _BY_NAME:
            self._follow_name(call, step)
        elif called_name(call) in _OF_ANY_ATTRIBUTE:
            step.reads.add(ANY_ATTRIBUTE)
        elif not functions and not is_own_class:
            self._follow_foreign(call, scope, step)

    def _follow_name(self, call: ast.Call, step: FlowStep) -> None:
        """Follow ``getattr`` and the like."""
        named = _named_by(call)
        if named is None:
            step.reads.add(ANY_ATTRIBUTE)
        else:
            self._read_attribute(named, step)
        step.acts |= called_name(call) != "getattr"

    def _is_act(
        self, call: ast.Call, functions: Collection[NamedFunction], scope: NameScope
    ) -> bool:
        match call.func:
            case ast.Attribute(value=owner, attr=name):
                if name in self._acting:
                    return True
                is_self = isinstance(owner, ast.Name) and owner.id == "self"
                is_own = is_self or self._names.holds_own(owner, scope)
                return bool(functions) and name in _OF_CHANNELS and not is_own
        return False

    def _follow_foreign(self, call: ast.Call, scope: NameScope, step: FlowStep) -> None:
        is_network = holds_network(call.func, scope, self._names)
        doing = Doing.ASKS if is_network else self._judge(self._file, call)
        owner = receiver(call)
        if doing is Doing.CHANGES and owner is not None:
            self._change(owner, scope, step, is_itself=True)
            self._put_into(owner, given_to(call), scope)
        elif doing is Doing.TELLS:
            step.tells = True
        elif doing is Doing.ASKS:
            for function in self._names.asked():
                self._run(function, step)
        elif doing is not Doing.COMPUTES:
            step.acts = True

    def _put_into(self, container: ast.expr, given: Iterable[ast.expr], scope: NameScope) -> None:
        into = self._named(container, scope)
        for each in given:
            for part in each.elts if isinstance(each, ast.Tuple | ast.List) else [each]:
                element = self._named(part, scope)
                if into is not None and element is not None:
                    self._program.elements.add((into, element))

    def _hand_over(self, given: _Given, function: NamedFunction, *, is_known: bool) -> None:
        """Note which parameter of a function gets what; each may get anything where that is not clear, or the function not known."""
        parameters = function.scope.parameters
        is_method = bool(function.of_class) and not is_decorated(function.node, "staticmethod")
        by_place = parameters[1:] if is_method else parameters
        is_clear = (
            is_known
            and not given.is_unpacked
            and len(given.by_place) <= len(by_place)
            and given.by_name.keys() <= set(parameters)
        )
        pairs = [*zip(by_place, given.by_place, strict=False)]
        pairs += [(name, places) for name, places in given.by_name.items() if name in parameters]
        if not is_clear:
            everything = [
                place for places in (*given.by_place, *given.by_name.values()) for place in places
            ]
            pairs = [(name, everything[:1]) for name in parameters]
            for one, other in pairwise(everything):
                self._program.link(one, other)
        for name, places in pairs:
            for place in places:
                self._program.link(DataPlace(function.scope.key, name), place)

    def _places_in(self, given: ast.expr, scope: NameScope) -> Iterator[DataPlace]:
        for part in nodes_in(given):
            match part:
                case ast.Name(id=name) if name not in self._imports:
                    yield scope.place(name)
                case ast.Attribute(attr=name):
                    yield DataPlace("", f".{name}")
                    for own in self._names.properties(name):
                        yield DataPlace(own.scope.key, RETURNED)
                case ast.Call():
                    for own in self._names.called(part, self._imports):
                        yield DataPlace(own.scope.key, RETURNED)
