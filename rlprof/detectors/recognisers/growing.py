"""Containers of one source file that code run again and again only ever adds to."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from rlprof.syntax.imports import name_key
from rlprof.syntax.module import Function, SourceModule, Statement, called_name
from rlprof.syntax.nodes import arguments_of, assigned, calls_in, single_targets, targets_of

_ADDS: Final = frozenset({"append", "appendleft", "extend", "add", "insert"})
_TAKES: Final = frozenset({"clear", "pop", "popleft", "popitem", "remove", "discard"})
_BOUNDS: Final = frozenset({"maxlen", "maxsize", "capacity"})
"""Keyword arguments of constructors that limit what is kept: ``deque(maxlen=...)``."""
_MAKES: Final = frozenset({"list", "set", "deque", "dict", "defaultdict", "OrderedDict", "Counter"})
"""Makers of Python's containers. ``append`` and ``add`` of other objects may do anything, and a
replay buffer bounds itself."""
_SETS_UP: Final = frozenset({"__init__", "__new__", "__post_init__", "setup", "build"})
"""Methods that run once: what they assign is not emptied by it."""


class Addition(NamedTuple):
    """A statement that adds to a container which nothing in the file empties."""

    container: str
    """As written: ``self.losses``."""
    value: str
    """Value that it adds, as written; empty where that cannot be told."""
    line: int
    function: str
    """Qualified name; ``<module>`` at module level."""
    is_local: bool
    """True if the container is a function's own, and gone when that returns."""


def additions(module: SourceModule) -> list[Addition]:
    """Additions that run again and again, in order of line.

    Only of containers that the file makes. One that is emptied, begun anew, bounded or returned anywhere in the file is left out:
    it may be large, but it does not grow for ever.
    """
    scopes = _Scopes(module)
    emptied = {
        scopes.key(target, statement.function)
        for statement in module.statements
        for target in _emptied(statement)
    }
    made = {
        scopes.key(target, statement.function)
        for statement in module.statements
        for target in _made(statement.node)
    }
    found = [
        Addition(
            container=ast.unparse(target),
            value="" if value is None else ast.unparse(value),
            line=statement.first_line,
            function=statement.function.qualname if statement.function else "<module>",
            is_local=scopes.is_local(target, statement.function),
        )
        for statement in module.statements
        for target, value in _added(statement)
        if scopes.key(target, statement.function) in made - emptied
        and _runs_again(statement, is_local=scopes.is_local(target, statement.function))
    ]
    return sorted(found, key=lambda addition: addition.line)


class _Scopes:
    """Names that are a function's own: those that it assigns, or gets as arguments."""

    def __init__(self, module: SourceModule) -> None:
        self._own: dict[str, set[str]] = defaultdict(set)
        for function in module.functions:
            self._own[function.qualname].update(arguments_of(function.node))
        for statement in module.statements:
            if statement.function is not None:
                self._own[statement.function.qualname].update(_assigned_names(statement.node))

    def is_local(self, target: ast.expr, function: Function | None) -> bool:
        if function is None or not isinstance(target, ast.Name):
            return False
        return target.id in self._own[function.qualname]

    def key(self, target: ast.expr, function: Function | None) -> tuple[str, str]:
        """Names a container across the file; an attribute is taken to be that of one object."""
        own = function is not None and self.is_local(target, function)
        return function.qualname if function is not None and own else "", name_key(target)


def _assigned_names(node: ast.stmt) -> Iterator[str]:
    targets = [node.target] if isinstance(node, ast.For | ast.AsyncFor) else targets_of(node)
    for target in single_targets(*targets):
        if isinstance(target, ast.Name):
            yield target.id


def _runs_again(statement: Statement, *, is_local: bool) -> bool:
    """A function that is no set-up is taken to be called often; what is local needs a loop."""
    if statement.in_loop:
        return True
    function = statement.function
    return not is_local and function is not None and function.node.name not in _SETS_UP


def _added(statement: Statement) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield (container, value) of what the statement adds to."""
    node = statement.node
    if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List | ast.ListComp):
        if isinstance(node.op, ast.Add) and name_key(node.target):
            yield node.target, node.value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        container = _receiver(call, _ADDS)
        if container is not None:
            yield container, call.args[-1] if call.args else None


def _made(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield what the statement makes a list, a set or a dict."""
    yield from (assignment.target for assignment in assigned(node) if _is_new(assignment.value))
    match node:
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if _makes_each(
            value
        ):
            # A field of a dataclass: an attribute of each instance.
            yield ast.Attribute(ast.Name("self"), name)


def _is_new(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return called_name(value) in _MAKES
    return isinstance(value, ast.List | ast.ListComp | ast.Set | ast.Dict)


def _makes_each(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and any(
        keyword.arg == "default_factory"
        and isinstance(keyword.value, ast.Name)
        and keyword.value.id in _MAKES
        for keyword in value.keywords
    )


def _receiver(call: ast.Call, methods: frozenset[str]) -> ast.expr | None:
    """The named container of which one of ``methods`` is called."""
    if called_name(call) in methods and isinstance(call.func, ast.Attribute):
        return call.func.value if name_key(call.func.value) else None
    return None


def _emptied(statement: Statement) -> Iterator[ast.expr]:
    """Yield the containers that the statement empties, begins anew, bounds or returns."""
    for node in statement.walk():
        taken = _receiver(node, _TAKES) if isinstance(node, ast.Call) else None
        if taken is not None:
            yield taken
    node = statement.node
    if isinstance(node, ast.Delete):
        yield from map(_container, node.targets)
    elif isinstance(node, ast.Return) and node.value is not None:
        yield from (name for name in ast.walk(node.value) if isinstance(name, ast.Name))
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        yield from _begun_anew(statement, targets_of(node), node.value)


def _begun_anew(
    statement: Statement, targets: list[ast.expr], value: ast.expr
) -> Iterator[ast.expr]:
    is_bounded = any(
        keyword.arg in _BOUNDS for call in calls_in(value) for keyword in call.keywords
    )
    function = statement.function
    is_set_up = function is None or function.node.name in _SETS_UP
    for target in single_targets(*targets):
        container = _container(target)
        runs_again = statement.in_loop or (isinstance(container, ast.Attribute) and not is_set_up)
        # A slice or an index that is assigned replaces what was there.
        if is_bounded or runs_again or isinstance(target, ast.Subscript):
            yield container


def _container(target: ast.expr) -> ast.expr:
    return target.value if isinstance(target, ast.Subscript) else target
