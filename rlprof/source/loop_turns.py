"""Loops of Python: the counter, the element of a tensor or the number of a row that each turn is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from rlprof.source.tensors import Tensors
from rlprof.syntax.loop_elements import elements
from rlprof.syntax.module import Loop, called_name
from rlprof.syntax.nodes import calls_in, names_in

FEW: Final = 8
"""Turns up to which a loop may as well stay one: a call for all costs as much as some of its turns."""

_FINDS_ROWS: Final = frozenset({"nonzero", "flatnonzero", "argwhere", "where"})
"""Calls that answer with the numbers of the rows for which something holds."""
_OF_NUMBERS: Final = frozenset({"tolist", "flatten", "squeeze", "cpu", "numpy", "view", "reshape"})
"""Methods by which those come into a loop."""


def bound_names(loop: Loop, tensors: Tensors) -> Iterator[tuple[str, str]]:
    """Yield the names that a turn gives a value, and the tensor that it is an element of, if it is one."""
    if isinstance(loop, ast.While):
        for name in counted(loop):
            yield name, ""
        return
    for name, source in elements(loop.target, loop.iter):
        match source:
            case ast.Call(func=ast.Name(id="enumerate")):
                yield name, ""
            case ast.Call(func=ast.Name(id="range" | "trange"), args=given):
                if len(given) < 3 or _is_minus(given[2]):
                    yield name, ""
            case _ if are_numbers_of_rows(source):
                yield name, ""
            case _ if tensors.holds(source):
                yield name, ast.unparse(source)


def are_numbers_of_rows(iterated: ast.expr) -> bool:
    """Tell whether a loop goes through the rows for which something holds: ``done.nonzero().flatten().tolist()``, ``np.where(done)[0]``."""
    while True:
        match iterated:
            case ast.Call(args=args) if called_name(iterated) in _FINDS_ROWS:
                # With three arguments ``where`` chooses values.
                return called_name(iterated) != "where" or len(args) == 1
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in _OF_NUMBERS:
                iterated = of
            case ast.Subscript(value=of):
                iterated = of
            case _:
                return False


def counted(loop: Loop) -> frozenset[str]:
    """Return what a ``while`` counts up or down."""
    if not isinstance(loop, ast.While):
        return frozenset()
    tested = names_in(loop.test)
    return frozenset(
        part.target.id
        for part in ast.walk(loop)
        if isinstance(part, ast.AugAssign)
        and isinstance(part.target, ast.Name)
        and part.target.id in tested
        and isinstance(part.value, ast.Constant)
        and part.value.value == 1
    )


def is_short(loop: Loop) -> bool:
    match loop:
        case ast.For(iter=ast.Call(args=[ast.Constant(value=int(turns))])):
            return turns <= FEW
    return False


def goes_backwards(loop: Loop) -> bool:
    if isinstance(loop, ast.While):
        return False
    return any(
        (
            called_name(part) in ("reversed", "flip")
            or (called_name(part) == "range" and len(part.args) == 3 and _is_minus(part.args[2]))
        )
        for part in calls_in(loop.iter)
    )


def _is_minus(expression: ast.expr) -> bool:
    return isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub)
