"""The names of a program: its functions, the variables of each, and the attributes of its classes."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from rlprof.source.slices.model import DataPlace
from rlprof.source.slices.named_tuples import fields_read, tuple_fields
from rlprof.syntax.dependencies import is_called_as_written
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import FunctionNode, SourceModule, called_name, variables_assigned
from rlprof.syntax.nodes import (
    arguments_of,
    assigned,
    declared_elsewhere,
    is_decorated,
    single_targets,
)

_BODIES: Final = ("body", "orelse", "finalbody")
_OF_NETWORKS: Final = ("forward", "__call__")


@dataclass(slots=True, eq=False)
class NameScope:
    """A function, or the own level of a file."""

    file: str
    key: str
    """Empty for the own level of a file."""
    outer: NameScope | None
    own: frozenset[str]
    """Names of its variables."""
    values: Mapping[str, Sequence[ast.expr | None]]
    """What they are assigned; None for what the source does not show."""
    parameters: tuple[str, ...] = ()
    returned: tuple[ast.expr, ...] = ()

    def holder(self, name: str) -> NameScope:
        """The scope whose variable it is."""
        scope = self
        while scope.outer is not None and name not in scope.own:
            scope = scope.outer
        return scope

    def place(self, name: str) -> DataPlace:
        return DataPlace(self.holder(name).key, name)


class NamedFunction(NamedTuple):
    """A function of the program's."""

    node: FunctionNode
    scope: NameScope
    of_class: str
    is_foreign: bool
    """True if its class is derived from one of a library, which may call it."""


class ProgramNames:
    """The functions, classes and attributes that the files define."""

    def __init__(self, modules: Mapping[str, SourceModule]) -> None:
        self.of_files: dict[str, NameScope] = {}
        self.classes: dict[str, list[NamedFunction]] = {}
        """Their ``__init__``, by name."""
        self.attributes: set[str] = set()
        """Those that a class gives to its objects."""
        self.given: dict[str, list[tuple[ast.expr | None, NameScope]]] = defaultdict(list)
        """What these are given, and where."""
        self._of_foreign: set[str] = set()
        """Those of classes that are derived from one of a library, which may read them."""
        self._tuples = tuple_fields(modules.values())
        self._imports = {file: module.imports for file, module in modules.items()}
        self._of_nodes: dict[int, NamedFunction] = {}
        self._plain: dict[str, list[NamedFunction]] = defaultdict(list)
        self._methods: dict[str, list[NamedFunction]] = defaultdict(list)
        self._called: set[str] = set()
        self._read: set[str] = set()
        self._read_attributes: set[str] = set()
        for module in modules.values():
            self.classes |= {
                node.name: [] for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)
            }
            self._note_uses(module)
        for file, module in modules.items():
            body = module.tree.body
            nodes = _own_nodes(body)
            scope = NameScope(file, "", None, _variables(nodes), _values(nodes))
            self.of_files[file] = scope
            self._define(body, scope, "", None)

    def of_node(self, node: FunctionNode) -> NamedFunction:
        return self._of_nodes[id(node)]

    def called(self, call: ast.Call, imports: Mapping[str, str]) -> Sequence[NamedFunction]:
        """Return the program's own functions that a call may call, the ``__init__`` of a class among them."""
        match call.func:
            case ast.Name(id=name):
                last = imports.get(name, name).rpartition(".")[2]
                return [*self._plain.get(last, ()), *self.classes.get(last, ())]
            case ast.Attribute(attr=name) if full_name(call.func, imports):
                return [*self._plain.get(name, ()), *self.classes.get(name, ())]
            case ast.Attribute(attr=name):
                return self._methods.get(name, ())
        return ()

    def held_by(self, expression: ast.expr, scope: NameScope) -> Sequence[NamedFunction]:
        """Return the functions that a variable or an attribute holds: closures, partial functions, callable objects. None where it may
        hold others.
        """
        values = self.values_of(expression, scope)
        functions = [[*self._functions_in(value)] for value, _ in values]
        return [each for several in functions for each in several] if all(functions) else ()

    def holds_own(self, expression: ast.expr, scope: NameScope) -> bool:
        """Tell whether a variable or an attribute is only ever given objects of the program's own classes."""
        values = self.values_of(expression, scope)
        return bool(values) and all(
            isinstance(value, ast.Call) and called_name(value) in self.classes
            for value, _ in values
        )

    def values_of(
        self, expression: ast.expr, scope: NameScope
    ) -> Sequence[tuple[ast.expr | None, NameScope]]:
        """Return what a variable or an attribute is given, and where; nothing for a parameter."""
        match expression:
            case ast.Name(id=name):
                holder = scope.holder(name)
                values = () if name in holder.parameters else holder.values.get(name, ())
                return [(value, holder) for value in values]
            case ast.Attribute(attr=name):
                return self.given.get(name, ())
        return ()

    def functions_named(self, name: str) -> Sequence[NamedFunction]:
        """Return those that are no methods."""
        return self._plain.get(name, ())

    def imports(self, scope: NameScope) -> Mapping[str, str]:
        """The imports of its file."""
        return self._imports[scope.file]

    def asked(self) -> Iterator[NamedFunction]:
        """Yield the functions that a network may call which is asked."""
        for name in _OF_NETWORKS:
            yield from self._methods.get(name, ())

    def properties(self, name: str) -> Iterator[NamedFunction]:
        """Yield the functions that reading an attribute of that name may call."""
        return (each for each in self._methods.get(name, ()) if is_decorated(each.node, "property"))

    def fields_read(self, node: ast.AST) -> Iterator[str]:
        """Yield the attributes of named tuples that ``node`` may read by their places."""
        return fields_read(node, self._tuples)

    def may_be_read_by_others(self, attribute: str) -> bool:
        """Tell whether nobody in the program reads it, and a class of a library may."""
        return attribute in self._of_foreign and attribute not in self._read_attributes

    def is_entry(self, function: NamedFunction) -> bool:
        """Tell whether others than the program's own statements may call it."""
        name = function.node.name
        is_special = name.startswith("__") and name.endswith("__") and name != "__init__"
        is_read = name in self._read_attributes or (not function.of_class and name in self._read)
        is_property = is_decorated(function.node, "property")
        is_handed_on = is_read and not is_property
        return (
            is_special
            or is_handed_on
            or function.is_foreign
            or not (name in self._called or is_property or name == "__init__")
            or not is_called_as_written(function.node)
        )

    def _functions_in(self, value: ast.expr | None) -> Iterator[NamedFunction]:
        match value:
            case ast.Name(id=name):
                yield from self._plain.get(name, ())
            case ast.Attribute(attr=name):
                yield from self._methods.get(name, ())
            case ast.Call(args=[function, *_]) if called_name(value) == "partial":
                yield from self._functions_in(function)
            case ast.Call():
                name = called_name(value)
                if name in self.classes:
                    yield from (each for each in self.asked() if each.of_class == name)
                for maker in self._plain.get(name, ()):
                    for returned in maker.scope.returned:
                        yield from self._functions_in(
                            returned if isinstance(returned, ast.Name) else None
                        )

    def _define(
        self, body: Iterable[ast.stmt], scope: NameScope, prefix: str, of_class: ast.ClassDef | None
    ) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._define_function(node, scope, prefix, of_class)
            elif isinstance(node, ast.ClassDef):
                self.attributes |= variables_assigned(*node.body)
                self._define(node.body, scope, f"{prefix}{node.name}.", node)
            else:
                self._define(bodies_of(node), scope, prefix, of_class)

    def _define_function(
        self, node: FunctionNode, scope: NameScope, prefix: str, of_class: ast.ClassDef | None
    ) -> None:
        parameters, nodes = tuple(arguments_of(node)), _own_nodes(node.body)
        inside = NameScope(
            scope.file,
            f"{scope.file}:{prefix}{node.name}:{node.lineno}",
            scope,
            (_variables(nodes) | set(parameters)) - declared_elsewhere(nodes),
            _values(nodes),
            parameters,
            tuple(
                inner.value
                for inner in nodes
                if isinstance(inner, ast.Return) and inner.value is not None
            ),
        )
        is_foreign = of_class is not None and any(
            not isinstance(base, ast.Name) or base.id not in ("object", *self.classes)
            for base in of_class.bases
        )
        function = NamedFunction(node, inside, of_class.name if of_class else "", is_foreign)
        self._of_nodes[id(node)] = function
        if of_class is None:
            self._plain[node.name].append(function)
        else:
            self._methods[node.name].append(function)
            if node.name == "__init__":
                self.classes[of_class.name].append(function)
            for name, value in _attributes_given(node, parameters[:1]):
                self.attributes.add(name)
                if is_foreign:
                    self._of_foreign.add(name)
                self.given[name].append((value, inside))
        self._define(node.body, inside, f"{prefix}{node.name}.<locals>.", None)

    def _note_uses(self, module: SourceModule) -> None:
        called = {id(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                name = node.id if isinstance(node, ast.Name) else node.attr
                if id(node) in called:
                    self._called.add(name)
                else:
                    (self._read if isinstance(node, ast.Name) else self._read_attributes).add(name)


def bodies_of(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statements in the bodies of a statement."""
    for name in _BODIES:
        yield from getattr(node, name, ())
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from part.body


def _attributes_given(
    node: FunctionNode, own: Sequence[str]
) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the attributes that a method gives to its object, with their values where the source shows these."""
    for inner in ast.walk(node):
        added = ((inner.target, inner.value),) if isinstance(inner, ast.AugAssign) else ()
        for target, value in (*_pairs(inner), *added):
            for each in single_targets(target):
                match each:
                    case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in own:
                        yield attribute, value


def _variables(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The variables of a function, those of its comprehensions and lambdas among them."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Lambda):
            found.update(arguments_of(node))
    return frozenset(found)


def _values(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr | None]]:
    """All that the variables of a function are assigned, by their names."""
    found: dict[str, list[ast.expr | None]] = defaultdict(list)
    for node in nodes:
        for target, value in _pairs(node):
            for each in single_targets(target):
                if isinstance(each, ast.Name):
                    found[each.id].append(value)
    return dict(found)


def _pairs(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield targets with what they are assigned."""
    match node:
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            yield target, value
        case ast.withitem(optional_vars=ast.expr() as target):
            yield target, None
        case ast.NamedExpr(target=target, value=value):
            yield target, value
        case ast.Lambda():
            yield from ((ast.Name(name), None) for name in arguments_of(node))
        case _:
            yield from ((each.target, each.value) for each in assigned(node))


def _own_nodes(body: Iterable[ast.AST]) -> list[ast.AST]:
    """Return what is in a body, without functions and classes in it."""
    found: list[ast.AST] = []
    pending = [*body]
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(node)
            pending += ast.iter_child_nodes(node)
    return found
