"""Tell what a conversion costs, by the values that were seen where it stands."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from rlprof.detectors.recognisers.arrays.conversions import (
    JOINERS,
    MAKERS,
    REDUCERS,
    TAKE_APART,
    Conversion,
    ConversionKind,
    statements_of,
)
from rlprof.detectors.recognisers.arrays.gathered import FEW
from rlprof.model.calibration import calibrated
from rlprof.source.container_types import PLAIN_CALLS
from rlprof.source.value import Value
from rlprof.source.values import calls_compiled, value_of
from rlprof.syntax.module import SourceModule, called_name
from rlprof.syntax.nodes import calls_in

_ARRAYS: Final = ("numpy.ndarray", "torch.Tensor")

_CONVERTS: Final = (
    MAKERS
    | REDUCERS
    | TAKE_APART
    | PLAIN_CALLS
    | {
        *("tolist", "item", "from_numpy", "numpy", "zip", "astype", "reshape", "to"),
        *("argmax", "argmin", "index", "dumps"),
    }
)
"""Names on a line that convert, or go with what converts."""

LARGE: Final = calibrated(
    64,
    unit="values",
    source="Python 3.11: np.array of a list of 64 floats takes 1.5 µs, tolist of 64 0.6",
    date="2026-11-23",
)
"""From which on a conversion is what takes the time of a line that calls other things, too."""


MUCH_ARITHMETIC: Final = 4
"""Operators on a line from which on it computes: the value of a child in a tree search, and not the place of an item."""


def costs_nothing(conversion: Conversion, module: SourceModule, known: Mapping[str, Value]) -> bool:
    """Tell whether what was seen there says so: an array that was one already, rows of arrays that are joined to a batch, an array
    of a handful of numbers, a search among such.
    """
    if conversion.kind is ConversionKind.SEARCH:
        sizes = [value.length for value in known.values() if value.items in ("int", "float")]
        return bool(sizes) and all(size is not None and size <= FEW for size in sizes)
    if conversion.kind is ConversionKind.FROM_ARRAY:
        calls = (call for each in statements_of(conversion, module) for call in each.calls())
        taken = [value for call in calls if (value := _taken(call, known))]
        if taken and not any(value.is_array or value.is_container for value in taken):
            return True
        arrays = [value.numbers for value in known.values() if value.is_array]
        return bool(arrays) and all(size is not None and size <= FEW for size in arrays)
    given = [
        value.is_array or (called_name(node) in JOINERS and value.items in _ARRAYS)
        for statement in statements_of(conversion, module)
        for node in statement.calls()
        if called_name(node) in MAKERS | REDUCERS and node.args
        if (value := value_of(_gathered(node.args[0]), known)) is not None
    ]
    return conversion.kind is ConversionKind.TO_ARRAY and bool(given) and all(given)


def _taken(call: ast.Call, known: Mapping[str, Value]) -> Value | None:
    """Return the value that a call takes apart, where it was seen: a loader of batches, in ``enumerate(loader)``."""
    if called_name(call) not in TAKE_APART or not call.args:
        return None
    return value_of(call.args[0], known)


def _gathered(expression: ast.expr) -> ast.expr:
    """``rows`` of ``list(rows.values())``."""
    match expression:
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
            return _gathered(inner)
        case ast.Call(func=ast.Attribute(value=owner, attr="values"), args=[]):
            return owner
    return expression


def computes_beside(
    conversion: Conversion, module: SourceModule, known: Mapping[str, Value]
) -> bool:
    """Tell whether its lines do something else, too, whose time nothing tells from the conversion's: call what was seen to be
    written in C, or go through a loop in which they call anything, or compute what they compare.
    """
    for statement in statements_of(conversion, module):
        nodes = list(statement.walk())
        if sum(isinstance(node, ast.BinOp) for node in nodes) >= MUCH_ARITHMETIC:
            return True
        loops = [node for node in nodes if isinstance(node, ast.ListComp | ast.GeneratorExp)]
        if any(_other_calls(loop.elt, known) for loop in loops):
            return True
        if any(calls_compiled(call, known) for node in nodes for call in _other_calls(node, known)):
            return True
        if any(_is_answer_of_c(node, known) for node in nodes):
            return True
    return False


def _is_answer_of_c(node: ast.AST, known: Mapping[str, Value]) -> bool:
    """Tell whether a method takes apart what another call has computed that was not seen to be Python: ``rng.permutation(52).tolist()``."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call() as answered, attr=method)):
            callee = value_of(answered.func, known)
            is_python = callee is not None and callee.file.endswith(".py")
            converts = bool(_names_of(answered, known) & _CONVERTS)
            return method in TAKE_APART | {"tolist", "item"} and not is_python and not converts
    return False


def _other_calls(node: ast.AST, known: Mapping[str, Value]) -> list[ast.Call]:
    """The calls in ``node`` that convert nothing."""
    calls = calls_in(node)
    return [call for call in calls if not _names_of(call, known) & _CONVERTS]


def _names_of(call: ast.Call, known: Mapping[str, Value]) -> frozenset[str]:
    """Return what it calls: as it is written, and as it was seen to be."""
    callee = value_of(call.func, known)
    seen = callee.function.rpartition(".")[2] if callee is not None else ""
    return frozenset({called_name(call), seen})


def is_surely_large(
    conversion: Conversion, module: SourceModule, known: Mapping[str, Value]
) -> bool:
    """Tell whether what it converts was seen to be so much that it takes microseconds."""
    sizes = [
        value.numbers if value.is_array else value.length
        for statement in statements_of(conversion, module)
        for node in statement.walk()
        if (value := _converted(node, known)) is not None
    ]
    return any(size is not None and size > LARGE for size in sizes)


def _converted(node: ast.AST, known: Mapping[str, Value]) -> Value | None:
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="tolist")):
            return value_of(owner, known)
        case ast.Call(args=[first, *_]) as call if called_name(call) in (
            MAKERS | REDUCERS | TAKE_APART
        ):
            return value_of(first, known)
        case ast.comprehension(iter=source):
            return value_of(source, known)
    return None
