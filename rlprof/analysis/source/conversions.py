"""Places in a source file where Python containers become arrays, or are searched by hand.

Types are guessed from the file alone, and a guess has to be sure: ``np.asarray(x)`` of an ``x``
that may be an array already costs nothing and is not one of these places.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from rlprof.analysis.source.module import (
    Function,
    SourceModule,
    Statement,
    assigned_variable,
    called_name,
)

ARRAY_MODULES: Final = frozenset({"np", "numpy", "jnp", "torch", "th", "cp", "cupy"})

_MAKERS: Final = frozenset(
    {"array", "asarray", "asanyarray", "ascontiguousarray", "fromiter", "tensor", "as_tensor"}
    | {"FloatTensor", "LongTensor", "Tensor", "stack", "vstack", "hstack", "column_stack"}
)
_REDUCERS: Final = frozenset(
    {"argmax", "argmin", "argsort", "max", "min", "amax", "amin", "mean", "sum", "std", "var"}
    | {"median", "cumsum", "exp", "dot", "flatnonzero"}
)
"""numpy functions that turn a list into an array first, without saying so."""

_CONTAINER_CALLS: Final = frozenset({"list", "dict", "sorted", "deque", "defaultdict", "tolist"})
_VIEWS: Final = frozenset({"values", "keys", "items"})
_CONTAINER_TYPE: Final = re.compile(
    r"^(typing\.)?(list|dict|deque|defaultdict|Sequence|Mapping)\b", re.I
)
_ARRAY_TYPE: Final = re.compile(r"ndarray|NDArray|Tensor|ArrayLike")
_TAKE_APART: Final = frozenset({"list", "dict", "tuple", "enumerate", "map"})
_REBUILD: Final = frozenset({"list", "dict", "sorted"})
_PLAIN_CALLS: Final = frozenset(
    {"float", "int", "len", "range", "enumerate", "zip", "abs", "list", "max", "min", "append"}
    | {"items", "values", "keys", "get", "sorted", "sum", "tuple", "str", "dict", "reversed"}
)
"""Calls whose time is that of handling the container itself."""

_ORDER: Final = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)


class Kind(Enum):
    TO_ARRAY = "a container is turned into an array"
    FROM_ARRAY = "an array is turned into a container"
    SEARCH = "a home-made search for the best of a container"
    HANDLING = "containers are rebuilt"
    """Too common to count by itself: evidence only beside one of the others."""


@dataclass(frozen=True, slots=True)
class Conversion:
    kind: Kind
    function: Function | None
    lines: frozenset[int]
    calls: frozenset[str]
    """Last names of all calls on the lines."""
    other_calls: frozenset[str]
    """Last names of calls on the lines whose time is not the conversion's."""


@dataclass(frozen=True, slots=True)
class _Types:
    """Names and attributes known to hold containers, or arrays."""

    containers: frozenset[str]
    arrays: frozenset[str]


def find_conversions(module: SourceModule) -> tuple[Conversion, ...]:
    """All conversions of ``module``.

    Those of kind ``HANDLING`` only beside another one of their function, or where the statement
    calls a function that has another one: ``argmax(dict(enumerate(means)))``.
    """
    attributes = _types([it.node for it in module.statements], attributes=True)
    by_function: dict[int, list[Statement]] = defaultdict(list)
    for statement in module.statements:
        by_function[id(statement.function)].append(statement)
    found = [it for own in by_function.values() for it in _in_function(own, attributes)]
    converting = {it.function for it in found if it.kind is not Kind.HANDLING}
    names = {it.node.name for it in converting if it is not None}
    return tuple(
        it
        for it in found
        if it.kind is not Kind.HANDLING or it.function in converting or it.calls & names
    )


def _in_function(statements: list[Statement], attributes: _Types) -> Iterator[Conversion]:
    function = statements[0].function
    local = _types([it.node for it in statements], attributes=False, function=function)
    types = _Types(local.containers | attributes.containers, local.arrays | attributes.arrays)
    picked = _names_picked_from(statements)
    for statement in statements:
        kind = _kind(statement, types, picked)
        if kind is not None:
            yield _conversion(kind, statement)
        elif isinstance(statement.node, ast.For) and _is_search_loop(statement.node):
            node = statement.node
            lines = frozenset(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            yield Conversion(Kind.SEARCH, function, lines, frozenset(), frozenset())


def _kind(statement: Statement, types: _Types, picked: frozenset[str]) -> Kind | None:
    found: set[Kind] = set()
    for node in statement.walk():
        if isinstance(node, ast.Call):
            found.update(_kinds_of_call(node, types))
        elif isinstance(node, ast.Subscript):
            found.update(_kinds_of_subscript(node))
        elif isinstance(node, ast.ListComp | ast.DictComp | ast.SetComp | ast.GeneratorExp):
            found.update(_kinds_of_comprehension(node, types))
    assigned, value = assigned_variable(statement.node)
    if assigned in picked and value is not None and _is_keyed_sort(value):
        found.add(Kind.SEARCH)
    return next((kind for kind in Kind if kind in found), None)


def _kinds_of_call(call: ast.Call, types: _Types) -> Iterator[Kind]:
    name = called_name(call)
    first = call.args[0] if call.args else None
    if _root(call.func) in ARRAY_MODULES:
        if first is not None and name in _MAKERS | _REDUCERS and _is_container(first, types):
            yield Kind.TO_ARRAY
        return
    if name == "tolist" or (name in _TAKE_APART and _mentions_array(call, types)):
        yield Kind.FROM_ARRAY
    elif isinstance(call.func, ast.Name) and name in ("max", "min") and first is not None:
        yield from _kinds_of_max(call, first, types)
    elif name == "index" and isinstance(call.func, ast.Attribute) and isinstance(first, ast.Call):
        if called_name(first) in ("max", "min"):
            yield Kind.SEARCH
    elif first is not None and (
        name in _REBUILD or (name in ("choice", "sum") and _is_container(first, types))
    ):
        yield Kind.HANDLING


def _kinds_of_max(call: ast.Call, first: ast.expr, types: _Types) -> Iterator[Kind]:
    key = next((it.value for it in call.keywords if it.arg == "key"), None)
    if key is not None:
        if _is_lookup(key):
            yield Kind.SEARCH
    elif isinstance(first, ast.Call) and called_name(first) in _VIEWS:
        yield Kind.SEARCH
    elif _is_container(first, types):
        yield Kind.HANDLING


def _kinds_of_subscript(node: ast.Subscript) -> Iterator[Kind]:
    if _is_end(node.slice) and _is_keyed_sort(node.value):
        yield Kind.SEARCH


def _kinds_of_comprehension(
    node: ast.ListComp | ast.DictComp | ast.SetComp | ast.GeneratorExp, types: _Types
) -> Iterator[Kind]:
    source = node.generators[0].iter
    if _is_array(source, types) or _mentions_array(source, types):
        yield Kind.FROM_ARRAY
    elif not any(
        isinstance(it, ast.Call) and called_name(it) not in _PLAIN_CALLS for it in ast.walk(node)
    ):
        yield Kind.HANDLING


def _is_lookup(key: ast.expr) -> bool:
    """Whether a ``key=`` only looks values up: ``q.get``, ``lambda a: q[a]``, ``itemgetter(1)``."""
    if isinstance(key, ast.Attribute):
        return key.attr in ("get", "__getitem__")
    if isinstance(key, ast.Call):
        return called_name(key) in ("itemgetter", "attrgetter")
    if not isinstance(key, ast.Lambda):
        return False
    calls = [it for it in ast.walk(key.body) if isinstance(it, ast.Call)]
    return all(called_name(it) in _PLAIN_CALLS for it in calls) and any(
        isinstance(it, ast.Subscript | ast.Call) for it in ast.walk(key.body)
    )


def _is_keyed_sort(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and called_name(value) == "sorted"
        and any(it.arg == "key" and _is_lookup(it.value) for it in value.keywords)
    )


def _is_end(index: ast.expr) -> bool:
    return ast.unparse(index) in ("0", "-1")


def _names_picked_from(statements: list[Statement]) -> frozenset[str]:
    """Names of which only an end is taken somewhere: ``ranking[0]``."""
    return frozenset(
        node.value.id
        for statement in statements
        for node in statement.walk()
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and _is_end(node.slice)
    )


def _is_search_loop(loop: ast.For) -> bool:
    """Whether a loop keeps the best seen so far: ``if v > best: best, best_i = v, i``."""
    if any(
        isinstance(it, ast.Call) and called_name(it) not in _PLAIN_CALLS for it in ast.walk(loop)
    ):
        return False
    for node in ast.walk(loop):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Compare):
            if not isinstance(node.test.ops[0], _ORDER):
                continue
            sides = (node.test.left, *node.test.comparators)
            compared = {side.id for side in sides if isinstance(side, ast.Name)}
            assigned = {
                it.id
                for statement in node.body
                for it in ast.walk(statement)
                if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Store)
            }
            if compared & assigned:
                return True
    return False


def _conversion(kind: Kind, statement: Statement) -> Conversion:
    calls = {called_name(node) for node in statement.walk() if isinstance(node, ast.Call)}
    return Conversion(
        kind,
        statement.function,
        frozenset(range(statement.first_line, statement.last_line + 1)),
        frozenset(calls),
        frozenset(calls - _PLAIN_CALLS - _MAKERS - _REDUCERS - {"index", "choice", "tolist"}),
    )


def _is_container(expression: ast.expr, types: _Types) -> bool:
    if isinstance(expression, ast.Call):
        name = called_name(expression)
        return name in _CONTAINER_CALLS or (name in _VIEWS and not expression.args)
    if isinstance(expression, ast.ListComp | ast.GeneratorExp):
        # What its calls take is theirs: only the plain gathering of values is a conversion.
        return not any(
            isinstance(it, ast.Call) and called_name(it) not in _PLAIN_CALLS
            for it in ast.walk(expression)
        )
    if isinstance(expression, ast.List | ast.Tuple):
        return any(
            isinstance(it, ast.Starred) or _is_container(it, types) for it in expression.elts
        )
    return _key(expression) in types.containers


def _is_array(expression: ast.expr, types: _Types) -> bool:
    return _key(expression) in types.arrays


def _mentions_array(expression: ast.expr, types: _Types) -> bool:
    """Whether an array is an argument of ``expression``, through ``enumerate``, ``zip`` and the like."""
    return isinstance(expression, ast.Call) and any(
        _is_array(it, types) or (_is_plain(it) and _mentions_array(it, types))
        for it in expression.args
    )


def _is_plain(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and called_name(expression) in _PLAIN_CALLS


def _root(expression: ast.expr) -> str:
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


def _key(expression: ast.expr) -> str:
    """``q`` for a variable, ``.q`` for an attribute of anything; empty for the rest."""
    if isinstance(expression, ast.Name):
        return expression.id
    return f".{expression.attr}" if isinstance(expression, ast.Attribute) else ""


def _types(nodes: list[ast.stmt], *, attributes: bool, function: Function | None = None) -> _Types:
    """What ``nodes`` assign: attributes of any object, or the function's variables."""
    containers: set[str] = set()
    arrays: set[str] = set()
    unknown: set[str] = set()
    for key, value, annotation in _assignments(nodes, function):
        if key.startswith(".") is not attributes:
            continue
        declared = ast.unparse(annotation) if annotation is not None else ""
        if _ARRAY_TYPE.search(declared) or _makes_array(value):
            arrays.add(key)
        elif _CONTAINER_TYPE.search(declared) or _makes_container(value):
            containers.add(key)
        else:
            unknown.add(key)
    unsure = unknown | (containers & arrays)
    return _Types(frozenset(containers - unsure), frozenset(arrays - unsure))


def _assignments(
    nodes: list[ast.stmt], function: Function | None
) -> Iterator[tuple[str, ast.expr | None, ast.expr | None]]:
    """Yield (name, value, annotation) of assignments and of the function's parameters."""
    if function is not None:
        for argument in (*function.node.args.args, *function.node.args.kwonlyargs):
            yield argument.arg, None, argument.annotation
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield _key(target), node.value, None
        elif isinstance(node, ast.AnnAssign):
            yield _key(node.target), node.value, node.annotation


def _makes_array(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and _root(value.func) in ARRAY_MODULES


def _makes_container(value: ast.expr | None) -> bool:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        value = value.left
    return isinstance(value, ast.List | ast.ListComp | ast.Dict | ast.DictComp) or (
        isinstance(value, ast.Call) and called_name(value) in _CONTAINER_CALLS
    )
