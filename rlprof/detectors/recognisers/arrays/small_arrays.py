"""Calls of numpy on a few numbers, where the source shows that they are few.

A guess has to be sure: ``np.clip(x, -1, 1)`` of an ``x`` that may be a picture is none of these.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rlprof.model.calibration import calibrated
from rlprof.syntax.imports import NUMPY, name_key, root_name
from rlprof.syntax.module import (
    PARSED_FILES,
    Function,
    Statement,
    called_name,
    parse,
)
from rlprof.syntax.nodes import assigned, given_by_name, owner_of

FEW: Final = calibrated(
    8,
    unit="elements",
    source="eight are summed or clipped in 0.3 to 1 µs, which numpy's call alone takes",
    date="2026-11-21",
)
"""Elements up to which plain Python is quicker."""

A_HANDFUL: Final = calibrated(
    4,
    unit="elements",
    source="benchmarks/replacements.py, numpy 2.4: of 0.9 * x + 0.1 * y of 3, 4 and 8 numbers 0.47, 0.50 and 0.62 is left, of np.clip 0.41, 0.50 and 0.90; "
    "of a step on arrays of three 0.14 (benchmarks/programs/pairs/numpy_tiny_ops.py), of one on arrays of eight more than half",
    date="2026-11-29",
)
"""Elements up to which it is quicker by far, item by item."""

_ON_VALUES: Final = frozenset(
    {
        "clip",
        "mean",
        "sum",
        "max",
        "min",
        "amax",
        "amin",
        "any",
        "all",
        "std",
        "var",
        "prod",
        "median",
    }
    | {"argmax", "argmin", "norm", "dot", "round", "around", "where", "concatenate", "append"}
    | {
        "sin",
        "cos",
        "tan",
        "arctan2",
        "arcsin",
        "arccos",
        "tanh",
        "sinh",
        "cosh",
        "hypot",
        "radians",
    }
    | {"sqrt", "square", "exp", "log", "log2", "power", "abs", "absolute", "fabs", "sign", "floor"}
    | {"ceil", "isnan", "isinf", "isfinite", "isclose", "allclose", "deg2rad", "rad2deg", "maximum"}
    | {"minimum", "float32", "float64", "int32", "int64", "bool_"}
)
DRAWS: Final = frozenset({"rand", "random", "uniform", "randint", "normal", "choice", "randn"})
OF_SHAPE: Final = frozenset({"zeros", "ones", "empty", "full", "rand", "randn"})
ARRAY: Final = frozenset({"array", "asarray"})
SCALAR_CALLS: Final = frozenset({"float", "int", "len", "bool", "abs", "round"})
_SCALAR_MODULES: Final = frozenset({"math", "random"})
_SCALAR_TYPES: Final = frozenset({"float", "int", "bool"})
_FILLS: Final = frozenset({"append", "extend", "insert"})
"""Methods that make a list longer than its text shows."""


class _Size:
    """The number of numbers that an expression is, as far as the text is sure."""

    NUMBER: Final = "number"
    FEW: Final = "few"
    LIKELY: Final = "likely a number"
    """A number or few of the object's own with something unknown, ``self.speed + action``; a list of a
    few items that may be arrays themselves, ``[offset[0], offset[1]]``."""
    MANY: Final = "many"
    UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class SmallCalls:
    """The calls of numpy on one statement."""

    names: frozenset[str]
    """Last names of those that are sure to be on a few numbers."""
    likely: frozenset[str]
    """Last names of those that are, unless what came from outside was a large array."""
    is_whole: bool
    """True if nothing else is called on its lines but what costs next to nothing."""
    counted: frozenset[str] = frozenset()
    """Those of the ``names`` whose numbers were seen."""
    several: frozenset[str] = frozenset()
    """Those that were seen to give more than ``A_HANDFUL`` of numbers, for each of which Python takes its time, too: ``clip``, and not ``mean``."""


TO_ONE_NUMBER: Final = frozenset(
    {"all", "any", "argmax", "argmin", "average", "dot", "max", "mean", "median", "min", "norm", "prod", "ptp", "std", "sum", "var", "vdot"}
)  # fmt: skip
"""Functions that make one number of several, which Python has as well: ``sum(x) / len(x)``."""

ARITHMETIC: Final = "arithmetic"
"""Stands for the operators in the names of calls: ``self.position + self.speed`` of a few numbers."""


@lru_cache(maxsize=PARSED_FILES)
def find_small_calls(text: str) -> Mapping[int, SmallCalls]:
    """Statements with such calls, by line number."""
    module = parse(text)
    if module is None or "numpy" not in text:
        return {}
    attributes = _sizes(module.statements, None, {}, attributes=True)
    given = _sizes(module.statements, None, attributes, attributes=False)
    found: dict[int, SmallCalls] = {}
    for statements in module.by_function():
        function = statements[0].function
        outer = attributes | _parameters(function, given)
        sizes = outer | _sizes(statements, function, outer, attributes=False)
        for statement in statements:
            calls = _small_calls(statement, sizes)
            if calls is not None:
                found |= dict.fromkeys(statement.lines, calls)
    return found


def _small_calls(statement: Statement, sizes: Mapping[str, str]) -> SmallCalls | None:
    names: dict[str, set[str]] = defaultdict(set)
    whole = True
    for node in statement.walk():
        if not isinstance(node, ast.Call):
            continue
        name = called_name(node)
        if root_name(node.func) not in NUMPY:
            cheap = name in SCALAR_CALLS | {"min", "max"}
            whole = whole and (cheap or root_name(node.func) in _SCALAR_MODULES)
        elif name not in ARRAY:
            # What is kept as an array has to be one: the observation that a step returns.
            names[_size_of_arguments(node, sizes)].add(name)
    if any(_is_few(part, sizes) for part in statement.walk()):
        names[_Size.FEW].add(ARITHMETIC)
    sure = names[_Size.NUMBER] | names[_Size.FEW]
    other = names[_Size.UNKNOWN] | names[_Size.MANY]
    likely = names[_Size.LIKELY]
    if not sure and not likely:
        return None
    return SmallCalls(
        frozenset(sure - likely - other),
        frozenset(likely - other),
        whole and not other,
    )


def _is_few(node: ast.AST, sizes: Mapping[str, str]) -> bool:
    """Tell whether ``node`` is an operation on a small array of the object's own."""
    return isinstance(node, ast.BinOp) and any(
        isinstance(side, ast.Attribute) and _size(side, sizes) == _Size.FEW
        for side in (node.left, node.right)
    )


def _size_of_arguments(call: ast.Call, sizes: Mapping[str, str]) -> str:
    """The most that a call of numpy works on."""
    name = called_name(call)
    if name in DRAWS and ast.unparse(call.func).split(".")[1:2] == ["random"]:
        return _Size.NUMBER if _draws_one(call, sizes) else _Size.UNKNOWN
    if name not in _ON_VALUES or not call.args:
        return _Size.UNKNOWN
    return _widest(_size(argument, sizes) for argument in call.args)


def _draws_one(call: ast.Call, sizes: Mapping[str, str]) -> bool:
    """Tell whether one number is drawn, not an array of them."""
    name = called_name(call)
    if given_by_name(call, "size"):
        return False
    if name in ("rand", "randn", "random"):
        return not call.args
    numbers = all(_size(argument, sizes) == _Size.NUMBER for argument in call.args[:2])
    if name == "choice":
        return len(call.args) == 1 and _size(call.args[0], sizes) in (_Size.NUMBER, _Size.FEW)
    return numbers and len(call.args) <= 2


def _size(expression: ast.expr, sizes: Mapping[str, str]) -> str:
    if isinstance(expression, ast.Constant):
        return _Size.NUMBER if isinstance(expression.value, int | float) else _Size.UNKNOWN
    if isinstance(expression, ast.UnaryOp):
        return _size(expression.operand, sizes)
    if isinstance(expression, ast.BinOp):
        return _size_of_operation(expression, sizes)
    if isinstance(expression, ast.Compare):
        return _widest(
            _size(operand, sizes) for operand in (expression.left, *expression.comparators)
        )
    if isinstance(expression, ast.List | ast.Tuple):
        is_counted = 0 < len(expression.elts) <= FEW and not any(
            isinstance(element, ast.Starred) for element in expression.elts
        )
        # An empty one is there to be filled.
        if not is_counted:
            return _Size.UNKNOWN
        if all(_size(element, sizes) == _Size.NUMBER for element in expression.elts):
            return _Size.FEW
        looks_so = all(_looks_like_a_number(element, sizes) for element in expression.elts)
        return _Size.LIKELY if looks_so else _Size.UNKNOWN
    if isinstance(expression, ast.Call):
        return _size_of_call(expression, sizes)
    return sizes.get(name_key(expression), _Size.UNKNOWN)


def _looks_like_a_number(expression: ast.expr, sizes: Mapping[str, str]) -> bool:
    """Tell whether ``expression`` is a number, an item by a constant index, or arithmetic with such."""
    if isinstance(expression, ast.BinOp):
        return all(
            _looks_like_a_number(operand, sizes) for operand in (expression.left, expression.right)
        )
    if isinstance(expression, ast.UnaryOp):
        return _looks_like_a_number(expression.operand, sizes)
    if isinstance(expression, ast.Subscript):
        return isinstance(expression.slice, ast.Constant)
    return _size(expression, sizes) == _Size.NUMBER


def _size_of_operation(operation: ast.BinOp, sizes: Mapping[str, str]) -> str:
    sides = (operation.left, operation.right)
    found = [_size(side, sizes) for side in sides]
    own = any(
        size in (_Size.NUMBER, _Size.FEW) and isinstance(side, ast.Attribute)
        for side, size in zip(sides, found, strict=True)
    )
    if own and _Size.UNKNOWN in found:
        return _Size.LIKELY
    return _widest(found)


def _widest(parts: Iterable[str]) -> str:
    found = set(parts)
    order = (_Size.MANY, _Size.UNKNOWN, _Size.LIKELY, _Size.FEW)
    return next((size for size in order if size in found), _Size.NUMBER)


def _size_of_call(call: ast.Call, sizes: Mapping[str, str]) -> str:
    name, root = called_name(call), root_name(call.func)
    if root in _SCALAR_MODULES or (isinstance(call.func, ast.Name) and name in SCALAR_CALLS):
        return _Size.NUMBER
    if root not in NUMPY:
        return _Size.UNKNOWN
    if name in ARRAY and call.args:
        return _size(call.args[0], sizes)
    if name in OF_SHAPE and call.args:
        return _size_of_shape(call.args[0])
    if name in DRAWS:
        return _Size.NUMBER if _draws_one(call, sizes) else _Size.UNKNOWN
    if name in ("norm", "mean", "sum", "argmax", "argmin", "any", "all", "dot", "max", "min"):
        along = bool(given_by_name(call, "axis")) or len(call.args) > 1
        return _Size.UNKNOWN if along and name != "dot" else _size_of_result(call, sizes)
    return _size_of_arguments(call, sizes)


def _size_of_result(call: ast.Call, sizes: Mapping[str, str]) -> str:
    small = all(_size(argument, sizes) in (_Size.NUMBER, _Size.FEW) for argument in call.args)
    return _Size.NUMBER if small else _Size.UNKNOWN


def _size_of_shape(shape: ast.expr) -> str:
    count = elements_of(shape)
    if count is None:
        return _Size.UNKNOWN
    return _Size.FEW if count <= FEW else _Size.MANY


def elements_of(shape: ast.expr) -> int | None:
    """Elements of an array of ``shape``, or one dimension of it; None where the text does not tell."""
    parts = shape.elts if isinstance(shape, ast.Tuple | ast.List) else [shape]
    count = 1
    for part in parts:
        if not isinstance(part, ast.Constant) or not isinstance(part.value, int):
            return None
        count *= part.value
    return count


def _sizes(
    statements: Iterable[Statement],
    function: Function | None,
    outer: Mapping[str, str],
    *,
    attributes: bool,
) -> dict[str, str]:
    """Sizes of the names that ``statements`` assign: of attributes, or of a function's variables.

    A name is a number when one assignment makes it so and no other makes it more:
    ``self.x = 0.0`` and ``self.x += speed``.
    """
    values: dict[str, list[ast.expr]] = defaultdict(list)
    sizes = {} if function is None else _annotated(function)
    statements = list(statements)
    filled = {
        name_key(owner)
        for statement in statements
        for call in statement.calls()
        if called_name(call) in _FILLS
        for owner in owner_of(call)
    }
    for key, value in _assignments(statements):
        if key and key.startswith(".") is attributes:
            values[key].append(value)
    # Twice: what the last line of a step assigns, its first line reads.
    for _ in range(2):
        for key, given in values.items():
            seen = {_size(value, {**outer, **sizes}) for value in given}
            if key in filled or _Size.MANY in seen:
                continue
            if seen & {_Size.NUMBER, _Size.FEW}:
                sizes[key] = _Size.FEW if _Size.FEW in seen else _Size.NUMBER
            elif seen == {_Size.LIKELY}:
                sizes[key] = _Size.LIKELY
    return sizes


def _parameters(function: Function | None, given: Mapping[str, str]) -> dict[str, str]:
    """Likely sizes of a function's parameters: of the variables of the same name in the file."""
    arguments = function.node.args.args if function else []
    few = (_Size.NUMBER, _Size.FEW, _Size.LIKELY)
    return {argument.arg: _Size.LIKELY for argument in arguments if given.get(argument.arg) in few}


def _annotated(function: Function) -> dict[str, str]:
    arguments = (*function.node.args.args, *function.node.args.kwonlyargs)
    return {
        argument.arg: _Size.NUMBER
        for argument in arguments
        if isinstance(argument.annotation, ast.Name) and argument.annotation.id in _SCALAR_TYPES
    }


def _assignments(statements: Iterable[Statement]) -> Iterator[tuple[str, ast.expr]]:
    for statement in statements:
        if isinstance(statement.node, ast.AugAssign):
            changed = statement.node
            # A table that is multiplied by a number stays a table.
            yield name_key(changed.target), ast.BinOp(changed.target, changed.op, changed.value)
        for each in assigned(statement.node):
            if not each.is_unpacked:
                yield name_key(each.target), each.value
