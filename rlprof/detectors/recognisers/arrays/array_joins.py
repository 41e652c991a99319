"""Calls that make a new array of several, as ``np.append(rows, row)`` and ``np.r_[rows, row]``, and who keeps what they give."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from rlprof.source.lines import UserLines, last_name
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.bound_inputs import arguments_given
from rlprof.syntax.made_anew import COPIES, JOINS, is_made_anew
from rlprof.syntax.module import (
    Comprehension,
    Function,
    SourceModule,
    Statement,
    called_name,
)
from rlprof.syntax.nodes import targets_of

_JOINING: Final[Mapping[str, str]] = {"r_": "RClass", "c_": "CClass"}
"""Objects of numpy that join what they are indexed with, and their classes."""
_LIBRARIES: Final = ("numpy.", "torch.", "jax.", "pandas.", "cupy.")


class ArrayJoin(NamedTuple):
    """Expression that makes a new array of several."""

    node: ast.expr
    frame: str
    """Last name of the function whose frame shows it at work."""
    parts: tuple[ast.expr, ...]
    """The arguments that may be joined, and the elements of those that are written as a list."""
    given: tuple[ast.expr, ...]


def joins_in(statement: Statement, known: Mapping[str, Value]) -> Iterator[ArrayJoin]:
    for node in statement.walk():
        match node:
            case ast.Call() if _joins(node, known):
                parts = tuple(_joined(node))
                yield ArrayJoin(node, called_name(node), parts, tuple(node.args))
            case ast.Subscript(value=ast.Attribute() as joining, slice=ast.Tuple(elts=parts)) if (
                _is_joining(joining, known)
            ):
                yield ArrayJoin(node, "__getitem__", tuple(parts), tuple(parts))


def _joins(call: ast.Call, known: Mapping[str, Value]) -> bool:
    """Tell whether it is a function of an array library that makes a new array of several: by its identity, or its name
    where that is not known.
    """
    callee = value_of(call.func, known)
    if callee is not None and callee.function:
        last = callee.function.rpartition(".")[2]
        return last in JOINS and callee.function.startswith(_LIBRARIES)
    return (
        callee is None
        and called_name(call) in JOINS
        and isinstance(call.func, ast.Attribute)
        and len(call.args) > 0
    )


def _is_joining(joining: ast.Attribute, known: Mapping[str, Value]) -> bool:
    seen = value_of(joining, known)
    class_name = _JOINING.get(joining.attr, "")
    return bool(class_name) and (seen is None or last_name(seen.type) == class_name)


def _joined(call: ast.Call) -> Iterator[ast.expr]:
    """Yield what may be joined: the arguments, and the elements of those that are written as lists."""
    for argument in call.args:
        yield from argument.elts if isinstance(argument, ast.Tuple | ast.List) else (argument,)


def is_result(join: ast.expr, statement: ast.stmt) -> bool:
    """Tell whether the statement assigns or returns what the join gives, a part or a copy of it, or a container of such, and not what something
    else makes of it.
    """
    value = statement.value if isinstance(statement, ast.Assign | ast.Return) else None
    while value is not join:
        match value:
            case ast.Subscript(value=inner):
                value = inner
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in COPIES:
                value = inner
            case ast.DictComp(value=inner) | ast.ListComp(elt=inner):
                value = inner
            case _:
                return False
    return True


def kept_at(lines: UserLines, node: int) -> frozenset[str]:
    """Return what the statements of ``node`` assign, as it is written; of what is returned, the parameters that its caller assigns what comes
    back: ``rows`` for ``self.rows = longer(self.rows, row)``.
    """
    frame = lines.tree.frame(node)
    kept: set[str] = set()
    for statement in lines.statements(frame):
        module = lines.module(frame.file)
        kept.update(_assigned(module, statement))
        if statement.function is not None and _comes_back(statement, module):
            kept.update(_kept_by_caller(lines, node, statement.function))
    return frozenset(kept)


def _comes_back(statement: Statement, module: SourceModule | None) -> bool:
    """Tell whether a statement returns what it makes, or assigns a variable that its function returns."""
    if isinstance(statement.node, ast.Return):
        return True
    targets = set(map(ast.unparse, targets_of(statement.node)))
    return module is not None and any(
        isinstance(last.node, ast.Return)
        and isinstance(last.node.value, ast.Name)
        and last.node.value.id in targets
        for last in module.of_function(statement.function)
    )


def _kept_by_caller(lines: UserLines, node: int, function: Function) -> Iterator[str]:
    frames = map(lines.tree.frame, lines.tree.ancestors(node))
    # Before Python 3.12 a comprehension has a frame of its own.
    caller = next((frame for frame in frames if lines.function(frame) is not function), None)
    module = lines.module(caller.file) if caller is not None else None
    if caller is None or module is None:
        return
    for statement in module.statements_at(caller.line):
        targets = _assigned(module, statement)
        for call in statement.calls():
            if called_name(call) == function.node.name and is_result(call, statement.node):
                given = arguments_given(module, call, function) or {}
                yield from (name for name, part in given.items() if ast.unparse(part) in targets)


def _assigned(module: SourceModule | None, statement: Statement) -> frozenset[str]:
    """Return what it assigns, but for what is made anew before: by each turn of the loop around it, or by each call of its function."""
    targets = targets_of(statement.node)
    return frozenset(
        ast.unparse(target)
        for target in targets
        if module is None or not is_made_anew(target, statement, module)
    )


def cuts_off(join: ast.expr, statement: Statement) -> bool:
    """Tell whether only a part of what the join gives is kept, so that it does not grow for good: ``np.append(rows, row)[-1000:]``."""
    for part in statement.walk():
        match part:
            case ast.Subscript(value=value, slice=ast.Slice() as kept) if value is join:
                return kept.lower is not None or kept.upper is not None
            case ast.Subscript(value=value, slice=ast.Tuple(elts=[*_, ast.Slice() as kept])) if (
                value is join
            ):
                return kept.lower is not None or kept.upper is not None
    return False


def goes_through_items(join: ArrayJoin, statement: Statement) -> bool:
    """Tell whether it is what a comprehension makes of each item: ``{key: np.append(rows[key], row) for key in rows}``."""
    return any(
        isinstance(node, Comprehension) and join.node in ast.walk(node) for node in statement.walk()
    )
