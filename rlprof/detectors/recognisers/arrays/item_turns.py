"""Read one turn of a loop over small arrays: which of numpy's functions it calls, and how much of that is the cost of calling."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.arrays.small_arrays import SCALAR_CALLS
from rlprof.model.calibration import calibrated
from rlprof.source.container_types import VIEWS
from rlprof.source.value import Value
from rlprof.source.values import Values, callee, value_of
from rlprof.syntax.dependencies import inputs_of_function
from rlprof.syntax.module import Function, SourceModule, called_name, variables_read
from rlprof.syntax.nodes import nodes_in
from rlprof.syntax.pure_calls import only_computes, writes_by_argument

MOST_NUMBERS: Final = calibrated(
    256,
    unit="numbers",
    source="benchmarks/replacements.py, numpy 2.4: 200 distances of 256 numbers take 1.1 times those of 10",
    date="2026-11-25",
)
"""Numbers of an item up to which most of the time of a call is not spent on them."""

MOST_NUMBERS_OF_LIGHT: Final = calibrated(
    64,
    unit="numbers",
    source="benchmarks/replacements.py, numpy 2.4: of tanh of 32 arrays 0.51 is left for 64 numbers each, and 0.71 for 256",
    date="2026-11-25",
)
"""The same where a turn does no more than an operation or two in C."""

WALKED: Final = frozenset({"enumerate", "zip", "reversed", "list", "tuple", "sorted"})
"""Functions that go through what they are given."""
_CHEAP: Final = SCALAR_CALLS | WALKED | VIEWS | {"min", "max", "sum", "range", "map"}
_IN_PYTHON: Final = frozenset(
    {"sum", "mean", "max", "min", "any", "all", "std", "var", "prod", "clip"}
)
"""Methods of arrays that go through Python functions of numpy's own."""
_IN_C: Final = frozenset(
    {"dot", "argmax", "argmin", "item", "copy", "astype", "ravel", "flatten", "reshape"}
)
_UFUNCS: Final = frozenset(
    {"abs", "absolute", "add", "arctan", "arctan2", "concatenate", "cos", "dot", "exp", "greater", "hypot", "inner", "less", "log", "log1p", "matmul"}
    | {"maximum", "minimum", "multiply", "negative", "power", "sign", "sin", "sqrt", "square", "subtract", "tan", "tanh", "where"}
    | {"array", "asarray"}
)  # fmt: skip
"""Functions of numpy that are written in C."""
_DRAWS: Final = re.compile(r"numpy\.random\.(?!shuffle|seed|set_state|permutation|default_rng)")
_FEW_OPERATIONS: Final = 2
"""Operations in C up to which a turn is a light one."""
_BRANCHES: Final = (ast.For, ast.While, ast.If, ast.IfExp, ast.comprehension, ast.Try, ast.With)
_REFUSED: Final = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Starred)


class Helper(NamedTuple):
    """A function of the user's that a turn calls, and that does nothing but call numpy."""

    file: str
    function: str
    """Its qualified name, as frames have it."""


class _CalledFunction(NamedTuple):
    """Such a function, as it was read and seen."""

    file: str
    module: SourceModule
    function: Function
    seen: Mapping[str, Value]

    @property
    def arrays(self) -> dict[str, Value]:
        return {text: value for text, value in self.seen.items() if value.is_array}


class ItemTurn(NamedTuple):
    """Work of a turn on its item."""

    array: str
    """The small array that it works on, in words."""
    is_light: bool
    """True if that takes an operation or two in C: the loop around it costs as much, and what it makes as well."""
    helpers: frozenset[Helper]


class ItemTurnReader:
    """Reads the turns of the loops of one file."""

    def __init__(
        self,
        module: SourceModule,
        values: Values,
        modules: Callable[[str], SourceModule | None],
    ) -> None:
        """``modules`` gives the sources of other files."""
        self._module = module
        self._values = values
        self._modules = modules

    def read(
        self,
        worked: Iterable[ast.expr],
        own: set[str],
        known: Mapping[str, Value],
        through: Mapping[str, Value],
    ) -> ItemTurn | None:
        """Return what a turn does that computes ``worked`` from its ``own`` variables; None where one call of numpy would not
        do it for all items. ``through``: what the loop goes through, as written.
        """
        worked = list(worked)
        nodes = list(nodes_in(*worked))
        if any(isinstance(node, _REFUSED) for node in nodes):
            return None
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        functions: dict[Helper, _CalledFunction] = {}
        for call in calls:
            if self.is_cheap(call, known) or _is_numpy(call, known, self._module):
                continue
            found = self._called(call, known)
            if found is None or (own and not variables_read(*call.args) & own):
                return None
            functions[Helper(found.file, found.function.qualname)] = found
        arrays = {
            ast.unparse(node): value
            for node in nodes
            if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
            if (value := value_of(node, known)) is not None and value.is_array
        }
        items = {
            text: value
            for text, value in arrays.items()
            if variables_read(ast.parse(text, mode="eval").body) & own
            and value.type == "numpy.ndarray"
        }
        largest = max((value.numbers or 0 for value in arrays.values()), default=0)
        words = [f"{text}: {value.in_words()}" for text, value in items.items()]
        for text, value in through.items():
            if value.numbers_of_first is not None:
                largest = max(largest, value.numbers_of_first)
                words.append(f"{text}: {value.in_words()}")
        work = _work(nodes, items, known, self._module)
        for called in functions.values():
            largest = max(largest, *(value.numbers or 0 for value in called.arrays.values()))
            words += (f"{text}: {value.in_words()}" for text, value in called.arrays.items())
            work += _work(
                list(ast.walk(called.function.node)), called.arrays, called.seen, called.module
            )
        light = work <= _FEW_OPERATIONS
        if not work or not words or largest > (MOST_NUMBERS_OF_LIGHT if light else MOST_NUMBERS):
            return None
        return ItemTurn(words[0], light, frozenset(functions))

    def is_cheap(self, call: ast.Call, known: Mapping[str, Value]) -> bool:
        """Tell whether it takes next to nothing: a number is made, a container gone through."""
        found = callee(call, known, self._module)
        return called_name(call) in _CHEAP and not found.is_yours

    def is_small(self, call: ast.Call, known: Mapping[str, Value]) -> bool:
        """Tell whether it is cheap, or a call of numpy on nothing that is large."""
        given = (value_of(node, known) for node in ast.walk(call) if isinstance(node, ast.expr))
        return self.is_cheap(call, known) or (
            _is_numpy(call, known, self._module)
            and all(
                (value.numbers or 0) <= MOST_NUMBERS for value in given if value and value.is_array
            )
        )

    def _called(self, call: ast.Call, known: Mapping[str, Value]) -> _CalledFunction | None:
        """The function of the user's that is called, if it only computes, with numpy alone, and was seen to work on arrays."""
        found = callee(call, known, self._module)
        module = self._modules(found.file) if found.is_yours and found.line else None
        function = next(
            (each for each in (module.functions if module else ()) if each.code_line == found.line),
            None,
        )
        if module is None or function is None:
            return None
        inputs = inputs_of_function(module, function.first_line)
        if inputs is None:
            return None
        lines = function.lines
        called = _CalledFunction(
            found.file, module, function, self._values.between(found.file, lines)
        )
        read = [value for operand in inputs if (value := called.seen.get(operand.text)) is not None]
        if any(value.length is not None and not value.is_array for value in read):
            return None  # What turns gather may be in a container of those.
        nodes = list(nodes_in(*function.node.body))
        is_plain = not any(isinstance(node, _BRANCHES) for node in nodes) and all(
            called_name(node) in _CHEAP or _is_numpy(node, called.seen, module)
            for node in nodes
            if isinstance(node, ast.Call)
        )
        return called if is_plain and called.arrays else None


def _work(
    nodes: Iterable[ast.AST],
    items: Iterable[str],
    known: Mapping[str, Value],
    module: SourceModule,
) -> int:
    """Return how many operations in C a turn's work comes to: a function of numpy's that is written in Python counts for more than a few."""
    names = set(items)
    total = 0
    computes = False
    for node in nodes:
        if isinstance(node, ast.BinOp):
            total += 1
            computes |= bool({ast.unparse(node.left), ast.unparse(node.right)} & names)
        elif isinstance(node, ast.Call) and _is_numpy(node, known, module):
            total += 1 if _is_in_c(node, known, module) else _FEW_OPERATIONS + 1
            computes = True
    return total if computes else 0


def _is_in_c(call: ast.Call, known: Mapping[str, Value], module: SourceModule) -> bool:
    name = callee(call, known, module).name
    if name.startswith("numpy."):
        return name.rpartition(".")[2] in _UFUNCS
    return called_name(call) in _IN_C


def _is_numpy(call: ast.Call, known: Mapping[str, Value], module: SourceModule) -> bool:
    """Tell whether it calls a function of numpy, or a method of an array's, that only computes or draws."""
    if writes_by_argument(call):
        return False
    found = callee(call, known, module)
    if found.name.startswith("numpy."):
        return only_computes(found.name) or _DRAWS.match(found.name) is not None
    if found.is_python or not isinstance(call.func, ast.Attribute):
        return False
    owner = value_of(call.func.value, known)
    is_tensor = owner is not None and owner.type.startswith("torch.")
    return not is_tensor and call.func.attr in _IN_PYTHON | _IN_C
