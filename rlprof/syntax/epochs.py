"""Loops whose turns go through the same data again, a few rows at a time: what a call is given, followed to the loop that changes none of it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rlprof.syntax.ancestors import Turned, around
from rlprof.syntax.bound_inputs import arguments_given, only_value
from rlprof.syntax.dependencies import assigned_in
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import Function, SourceModule, Statement, called_name, variables_read
from rlprof.syntax.nodes import (
    arguments_of,
    assigned,
    assigned_to,
    given_to,
    nodes_in,
    stores_of,
    without_index,
)
from rlprof.syntax.pure_calls import is_computing_method, only_computes

_MOST_ROUNDS: Final = 8
"""Assignments that one value goes through."""
_PLACES: Final = frozenset({"to", "cuda", "cpu", "float", "double", "long", "pin_memory"})
"""Methods of tensors that give the same numbers elsewhere, or in another type."""


class RunningLine(NamedTuple):
    """A line that runs, in the function that it is in."""

    module: SourceModule
    function: Function | None
    line: int


class Epochs(NamedTuple):
    """A loop, each of whose turns goes through the same data."""

    loop: ast.For
    data: frozenset[str]
    """As they are written in the function of the loop."""
    level: int
    """Functions between the call and the loop."""


def epochs_around(
    places: Sequence[RunningLine], statement: Statement, call: ast.Call
) -> Epochs | None:
    """Return the innermost loop each of whose turns gives ``call`` rows of the same data: ``for _ in range(epochs)`` around
    ``for rows in order.split(size)``.

    ``places``: that of the call, that of who calls its function, and so on. None where anything but computing is done on the way to what is
    given, or rows are picked without a loop that goes through them.
    """
    node, given = call, given_to(call)
    within: list[Turned] = []
    attributes: set[str] = set()
    for level, place in enumerate(places):
        surroundings = around(place.module, statement, node)
        for loop in surroundings.loops:
            if isinstance(loop, ast.For) and _counts(loop):
                data = _data(given, place, loop)
                is_gone_through = bool(within) or not _picks(given, loop)
                if data and is_gone_through and not _gives_others(loop, attributes | data):
                    return Epochs(loop, frozenset(data), level)
            within.append(loop)
        if surroundings.is_conditional or place.function is None or level + 1 == len(places):
            return None
        entered = _at_entry(given, place)
        above = places[level + 1]
        calls = _calls_of(above, place.function)
        if entered is None or len(calls) != 1:
            return None
        attributes |= {text for text in entered if "." in text}
        statement, node = calls[0]
        handed = arguments_given(above.module, node, place.function)
        if handed is None or not all(text in handed for text in entered if "." not in text):
            return None
        given = [handed[text] for text in sorted(entered) if "." not in text]
        if not given:
            return None
    return None


def _counts(loop: ast.For) -> bool:
    return isinstance(loop.iter, ast.Call) and called_name(loop.iter) == "range"


def _picks(given: Sequence[ast.expr], loop: ast.For) -> bool:
    """Tell whether a turn gives parts of something, right there or by an assignment."""
    names = variables_read(*given)
    made = (
        each.value
        for node in ast.walk(loop)
        for each in assigned(node)
        if isinstance(each.target, ast.Name) and each.target.id in names
    )
    return any(isinstance(part, ast.Subscript) for part in nodes_in(*given, *made))


def _data(given: Iterable[ast.expr], place: RunningLine, loop: ast.For) -> set[str] | None:
    """Return what is given in a turn of the loop, in terms of what no turn assigns; None where it may be something else."""
    found, turned = _parts(given, place.module), assigned_in(loop.target)
    for _ in range(_MOST_ROUNDS):
        if found is None or not found.isdisjoint(turned):
            return None
        own = found & assigned_in(*loop.body)
        if not own:
            return found
        values = [_value_in(loop, name) for name in own]
        if None in values:
            return None
        parts = _parts([value for value in values if value is not None], place.module)
        found = None if parts is None else (found - own) | parts
    return None


def _value_in(loop: ast.For, name: str) -> ast.expr | None:
    """Return the one value that the loop assigns to a variable."""
    nodes = [*ast.walk(loop)]
    values = [each.value for each in assigned_to(name, nodes) if not each.is_unpacked]
    return values[0] if len(values) == len(stores_of(name, nodes)) == 1 else None


def _parts(values: Iterable[ast.expr], module: SourceModule) -> set[str] | None:
    """Variables and attributes that values are computed of, but for what picks rows; None where anything else is called."""
    found: set[str] = set()
    pending = [*values]
    while pending:
        value = pending.pop()
        match value:
            case ast.Constant() | ast.Slice():
                continue
            case ast.Name(id=name):
                found.add(name)
            case ast.Attribute():
                found.add(ast.unparse(value))
            case ast.Subscript(value=of):
                pending.append(of)
            case ast.BinOp(left=left, right=right):
                pending += [left, right]
            case ast.UnaryOp(operand=operand):
                pending.append(operand)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                pending += parts
            case ast.Call(func=called):
                name, full = called_name(value), full_name(called, module.imports)
                if not full and isinstance(called, ast.Attribute):
                    if not (is_computing_method(name) or name in _PLACES):
                        return None
                    pending.append(called.value)
                elif not only_computes(full):
                    return None
                pending += given_to(value)
            case _:
                return None
    return found


def _at_entry(given: Iterable[ast.expr], place: RunningLine) -> set[str] | None:
    """Return what is given, in terms of the function's arguments and of attributes."""
    assert place.function is not None
    found, arguments = _parts(given, place.module), arguments_of(place.function.node)
    for _ in range(_MOST_ROUNDS):
        if found is None:
            return None
        own = {name for name in found if "." not in name and name not in arguments}
        if not own:
            return found
        values = [only_value(place.function, name) for name in own]
        if None in values:
            return None
        parts = _parts([value for value in values if value is not None], place.module)
        found = None if parts is None else (found - own) | parts
    return None


def _calls_of(place: RunningLine, function: Function) -> list[tuple[Statement, ast.Call]]:
    return [
        (statement, call)
        for statement in place.module.statements_at(place.line)
        for call in statement.calls()
        if called_name(call) == function.node.name
    ]


def _gives_others(loop: ast.For, data: Iterable[str]) -> bool:
    """Tell whether a turn writes into the data, or gives their attribute another value."""
    names = {text.rpartition(".")[2] for text in data}
    for node in nodes_in(*loop.body):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            written = ast.unparse(without_index(node))
            if written.rpartition(".")[2] in names:
                return True
    return False
