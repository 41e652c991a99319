"""Arithmetic with numbers that numpy does with whole arrays, and comes to the same."""

from __future__ import annotations

import ast
from typing import Final

from rlprof.syntax.imports import NUMPY, root_name
from rlprof.syntax.module import called_name

_BUILT_IN: Final = frozenset({"abs", "min", "max", "float", "int"})
_MATHEMATICAL: Final = frozenset({"exp", "log", "sqrt", "tanh", "abs", "fabs"})
_MODULES: Final = frozenset({"math", *NUMPY})
_LARGEST: Final = 2**31
_POWERS: Final = (2, 3, 0.5)


def is_the_same_for_arrays(
    op: ast.operator, left: ast.expr, right: ast.expr, *, has_float: bool = False
) -> bool:
    """Tell whether numpy's numbers, of 64 bits, come to what Python's do, which have as many as they need; ``has_float``: whether one side is a
    float for sure, whose powers are floats.
    """
    constants = [
        side.value
        for side in (left, right)
        if isinstance(side, ast.Constant) and isinstance(side.value, int | float)
    ]
    if any(abs(constant) > _LARGEST for constant in constants):
        return False
    if isinstance(op, ast.Pow):
        return has_float or (isinstance(right, ast.Constant) and right.value in _POWERS)
    return isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.FloorDiv | ast.Mod)


def is_for_arrays(call: ast.Call) -> bool:
    """Tell whether a call is of a function of numbers that numpy has for arrays."""
    if isinstance(call.func, ast.Name):
        return call.func.id in _BUILT_IN
    return called_name(call) in _MATHEMATICAL and root_name(call.func) in _MODULES
