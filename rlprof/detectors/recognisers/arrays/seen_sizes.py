"""Calls of numpy on a few numbers, by the values that were seen there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.arrays.small_arrays import (
    A_HANDFUL,
    ARITHMETIC,
    ARRAY,
    DRAWS,
    FEW,
    OF_SHAPE,
    SCALAR_CALLS,
    TO_ONE_NUMBER,
    elements_of,
)
from rlprof.source.value import Value
from rlprof.source.values import Callee, callee, value_of
from rlprof.syntax.bound_inputs import only_value
from rlprof.syntax.module import Function, SourceModule, Statement, called_name, receiver
from rlprof.syntax.nodes import assigned, given_by_name, given_to, mentions

_METHOD: Final = "numpy.ndarray."
_METHODS: Final = frozenset({"sum", "mean", "max", "min", "any", "all", "prod", "std", "var", "argmax", "argmin", "dot", "clip", "copy", "round"})  # fmt: skip
_VIEWS: Final = frozenset({"reshape", "ravel", "view", "transpose", "squeeze"})
"""Methods that cost little, and that nothing takes the place of."""

_OF_BOUNDS: Final = frozenset({"arange", "linspace", "eye", "identity", "tri", "indices"})
_SQUARE: Final = frozenset({"eye", "identity", "tri", "indices"})
_OF_PAIRS: Final = frozenset({"outer", "kron"})
_LONGER: Final = frozenset({"tile", "repeat", "resize", "pad", "broadcast_to", "meshgrid", "diag", "diagflat", "vander"})  # fmt: skip
"""Functions that make an array of more numbers than they are given."""
_MADE_ALIKE: Final = "collections.defaultdict"
"""The type of containers whose items one function makes as they are asked for: the first is like all."""


class SeenSizes(NamedTuple):
    """Functions of numpy that statements call, by what was seen there."""

    small: frozenset[str]
    """Last names of those that were given one number or a few."""
    large: frozenset[str]
    is_whole: bool
    """True if nothing else is called."""
    several: frozenset[str]
    """Those of the small ones that give more than a handful of numbers."""


def calls_by_size(
    statements: Iterable[Statement], known: Mapping[str, Value], module: SourceModule | None
) -> SeenSizes:
    small: set[str] = set()
    large: set[str] = set()
    several: set[str] = set()
    is_whole = True
    for statement in statements:
        for call in statement.calls():
            called = callee(call, known, module)
            name = called.name.rpartition(".")[2] or called_name(call)
            owner = receiver(call)
            if owner is not None and _is_of_array(call, called):
                numbers = _seen_numbers(owner, known, module)
                if numbers is None:
                    is_whole = False
                elif name not in _VIEWS:
                    (small if numbers <= FEW else large).add(name)
                    several |= {name} if numbers > A_HANDFUL else set()
                continue
            if not called.name.startswith("numpy.") or not call.args:
                is_whole = is_whole and (name in SCALAR_CALLS | {"min", "max"} or called.is_python)
                continue
            # What is kept as an array has to be one: the observation that a step returns.
            if name in ARRAY:
                continue
            given = call.args[0]
            numbers = _called_numbers(call, name, known, module)
            if numbers is None:
                is_whole = False
            else:
                is_few = numbers <= FEW and not _works_on_columns(given, statement.function)
                (small if is_few else large).add(name)
                is_one = numbers <= A_HANDFUL or _is_an_item(given, known)
                several |= set() if is_one else {name}
        if any(_is_of_many(part, known, module) for part in statement.walk()):
            large.add(ARITHMETIC)
    return SeenSizes(
        frozenset(small - large),
        frozenset(large),
        is_whole and bool(small) and not large,
        frozenset((several & small) - large - TO_ONE_NUMBER),
    )


def _called_numbers(
    call: ast.Call, name: str, known: Mapping[str, Value], module: SourceModule | None
) -> int | None:
    """Return how many numbers a function of numpy works on: those it makes, or is given in its first argument, or in another one that was seen to have
    more; None where the first was not seen, or where it makes more than was seen.
    """
    if name in OF_SHAPE | _OF_BOUNDS:
        made = elements_of(call.args[0]) if len(call.args) == 1 else None
        return made**2 if made and name in _SQUARE else made
    first, *others = (_seen_numbers(each, known, module) for each in given_to(call))
    if name in _OF_PAIRS and first and others:
        return first * others[0] if others[0] else None
    # Of one number many may be made.
    if first is None or (name in _LONGER and first <= FEW):
        return None
    drawn = _size_of_draw(call, name)
    return max(first, *filter(None, others), 0) if drawn is None else elements_of(drawn)


def _size_of_draw(call: ast.Call, name: str) -> ast.expr | None:
    """Return how many numbers are to be drawn at random, where the call says it."""
    if name not in DRAWS:
        return None
    bounds = 1 if name == "choice" else 2
    return next(iter([*given_by_name(call, "size"), *call.args[bounds : bounds + 1]]), None)


def _is_of_many(part: ast.AST, known: Mapping[str, Value], module: SourceModule | None) -> bool:
    """Tell whether it is arithmetic with an array that was seen to be of many numbers."""
    return isinstance(part, ast.BinOp) and any(
        (_seen_numbers(side, known, module) or 0) > FEW
        # An item of it may be one number.
        for side in (part.left, part.right)
        if not isinstance(side, ast.Subscript)
    )


def _works_on_columns(expression: ast.expr, function: Function | None) -> bool:
    """Tell whether a column of a table is in it, ``state[:, 4]``: its rows are environments, or bodies, of which there may be more another time."""
    for part in ast.walk(expression):
        made = only_value(function, part.id) if isinstance(part, ast.Name) and function else part
        match made:
            case ast.Subscript(
                slice=ast.Tuple(elts=[ast.Slice(lower=None, upper=None), ast.Constant(value=int())])
            ):
                return True
    return False


def _is_of_array(call: ast.Call, called: Callee) -> bool:
    """Tell a method of arrays, by what was seen there, or by its name where it is one of what is computed on the line."""
    if called.name:
        return called.name.startswith(_METHOD)
    is_computed = isinstance(receiver(call), ast.BinOp | ast.UnaryOp | ast.Compare | ast.Call)
    return is_computed and called_name(call) in _METHODS


def _is_an_item(expression: ast.expr, known: Mapping[str, Value]) -> bool:
    """Tell whether it is one number of an array, ``x[0]``."""
    match expression:
        case ast.Subscript(value=whole, slice=ast.Constant(int())):
            value = value_of(whole, known)
            return value is not None and value.shape is not None and len(value.shape) == 1
    return False


def _seen_numbers(
    expression: ast.expr, known: Mapping[str, Value], module: SourceModule | None
) -> int | None:
    """Return how many numbers an expression is at most; None where something in it was not seen."""
    value = value_of(expression, known)
    if value is not None:
        return value.numbers
    match expression:
        case ast.Constant(int() | float()):
            return 1
        case ast.Subscript(value=owner) if (items := _items_of(owner, known, module)) is not None:
            return items
        case ast.UnaryOp(operand=operand) | ast.Subscript(value=operand):
            return _seen_numbers(operand, known, module)
        case ast.BinOp(left=left, right=right):
            parts: list[ast.expr] = [left, right]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            sizes = [_seen_numbers(element, known, module) for element in elements]
            return None if None in sizes else sum(filter(None, sizes))
        case ast.Compare(left=left, comparators=others):
            parts = [left, *others]
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[]) if name in _VIEWS:
            return _seen_numbers(owner, known, module)
        case ast.Call(args=[_, *_]) as call:
            name = callee(call, known, module).name
            are_seen = all(_seen_numbers(each, known, module) is not None for each in call.args)
            if not are_seen or not name.startswith("numpy."):
                return None
            return _called_numbers(call, name.rpartition(".")[2], known, module)
        case _:
            return None
    sizes = [_seen_numbers(part, known, module) for part in parts]
    return None if None in sizes else max(filter(None, sizes), default=None)


def _items_of(
    container: ast.expr, known: Mapping[str, Value], module: SourceModule | None
) -> int | None:
    """Return how many numbers each item of a table is whose items are made when they are first asked for; None for any other container, and where an
    item is put there by hand, which need not be like the others.
    """
    value = value_of(container, known)
    if value is None or value.type != _MADE_ALIKE:
        return None
    return (
        None if module is not None and _is_put_into(container, module) else value.numbers_of_first
    )


def _is_put_into(container: ast.expr, module: SourceModule) -> bool:
    """Tell whether the file puts anything there that is not made of what is there: ``table[0] = np.zeros(2)``."""
    whole = ast.unparse(container)
    return any(
        isinstance(each.target, ast.Subscript)
        and ast.unparse(each.target.value) == whole
        and not mentions(each.value, whole)
        for statement in module.statements
        for each in assigned(statement.node)
    )
