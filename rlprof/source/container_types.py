"""Tell which names of a source file hold Python containers, and which hold arrays.

Guessed from assignments and annotations of the file alone; a name that is ever given something
else is neither.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rlprof.syntax.imports import ARRAY_MODULES, name_key, root_name
from rlprof.syntax.module import Function, Statement, assigned_variable, called_name
from rlprof.syntax.nodes import calls_in

PLAIN_CALLS: Final = frozenset(
    {"float", "int", "len", "range", "enumerate", "zip", "abs", "list", "max", "min", "append"}
    | {"items", "values", "keys", "get", "sorted", "sum", "tuple", "str", "dict", "reversed"}
)
"""Calls whose time is that of handling the container itself."""

_CONTAINER_CALLS: Final = frozenset({"list", "dict", "sorted", "deque", "defaultdict", "tolist"})
VIEWS: Final = frozenset({"values", "keys", "items"})
_CONTAINER_TYPE: Final = re.compile(
    r"^(typing\.)?(list|dict|deque|defaultdict|Sequence|Mapping)\b", re.I
)
_NESTED_TYPE: Final = re.compile(r"\[.*\b(list|dict)\[", re.I)
_ARRAY_TYPE: Final = re.compile(r"ndarray|NDArray|Tensor|ArrayLike")


@dataclass(frozen=True, slots=True)
class Types:
    """Names and attributes known to hold containers, or arrays."""

    containers: frozenset[str]
    nested: frozenset[str]
    """Containers of containers: a table of lists by state."""
    arrays: frozenset[str]


def is_container(expression: ast.expr, types: Types) -> bool:
    """Tell whether ``expression`` is sure to be a list, dict or the like, made of more than a few names."""
    if isinstance(expression, ast.Call):
        name = called_name(expression)
        return name in _CONTAINER_CALLS or (name in VIEWS and not expression.args)
    if isinstance(expression, ast.ListComp | ast.GeneratorExp):
        # What its calls take is theirs: only the plain gathering of values is a conversion.
        return not any(called_name(part) not in PLAIN_CALLS for part in calls_in(expression))
    if isinstance(expression, ast.List | ast.Tuple):
        return any(
            isinstance(element, ast.Starred) or is_container(element, types)
            for element in expression.elts
        )
    if isinstance(expression, ast.Subscript):
        return name_key(expression.value) in types.nested
    return name_key(expression) in types.containers


def is_array(expression: ast.expr, types: Types) -> bool:
    return name_key(expression) in types.arrays


def mentions_array(expression: ast.expr, types: Types) -> bool:
    """Tell whether an array is an argument of ``expression``, through ``enumerate``, ``zip`` and the like."""
    return isinstance(expression, ast.Call) and any(
        is_array(argument, types) or (_is_plain(argument) and mentions_array(argument, types))
        for argument in expression.args
    )


def _is_plain(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and called_name(expression) in PLAIN_CALLS


def types_of(nodes: list[ast.stmt], *, attributes: bool, function: Function | None = None) -> Types:
    """Return what ``nodes`` assign: attributes of any object, or the function's variables."""
    containers: set[str] = set()
    nested: set[str] = set()
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
            if _NESTED_TYPE.search(declared) or _makes_container(_element(value)):
                nested.add(key)
        else:
            unknown.add(key)
    unsure = unknown | (containers & arrays)
    return Types(
        frozenset(containers - unsure), frozenset(nested - unsure), frozenset(arrays - unsure)
    )


def _element(value: ast.expr | None) -> ast.expr | None:
    """Return what a container that ``value`` makes is made of, where that is plain to see."""
    if isinstance(value, ast.DictComp):
        return value.value
    if isinstance(value, ast.ListComp):
        return value.elt
    if isinstance(value, ast.Call) and called_name(value) == "defaultdict" and value.args:
        factory = value.args[0]
        if isinstance(factory, ast.Lambda):
            return factory.body
        return ast.Call(factory, [], [])
    return None


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
                yield name_key(target), node.value, None
        elif isinstance(node, ast.AnnAssign):
            yield name_key(node.target), node.value, node.annotation


def _makes_array(value: ast.expr | None) -> bool:
    """Tell ``torch.zeros(8)`` and ``FloatTensor(rows)`` from ``DataLoader(rows)`` and ``torch.optim.Adam(parameters)``."""
    if not isinstance(value, ast.Call) or root_name(value.func) not in ARRAY_MODULES:
        return False
    name = called_name(value)
    return not name[:1].isupper() or name.endswith("Tensor")


def _makes_container(value: ast.expr | None) -> bool:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        value = value.left
    return isinstance(value, ast.List | ast.ListComp | ast.Dict | ast.DictComp) or (
        isinstance(value, ast.Call) and called_name(value) in _CONTAINER_CALLS
    )


def taken_out(statements: list[Statement], attributes: Types) -> frozenset[str]:
    """Variables that hold one container of a container of them: ``q = self.table[state]``."""
    assigned = [assigned_variable(statement.node) for statement in statements]
    return frozenset(
        name
        for name, value in assigned
        if isinstance(value, ast.Subscript) and name_key(value.value) in attributes.nested
    )
