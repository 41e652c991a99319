"""Libraries that work on graphs and formulas in Python."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, SlowCall
from rlprof.model.finding import Range

_NETWORKX_CALLED: Final = SlowCall(
    "NetworkX walks a graph again and again",
    "Where the graph stays, compute it for all nodes once and keep the table, or keep results by their arguments (functools.lru_cache).",
    # Of a graph that changes there is nothing to keep.
    Range(0.0, 0.99),
)

NETWORKX: Final = Library(
    name="NetworkX",
    packages=("networkx",),
    slow_calls={EVERYTHING: {ANY: _NETWORKX_CALLED}},
)
_SYMPY_CALLED: Final = SlowCall(
    "SymPy works on formulas in a loop",
    "Make a function of numbers of the formula once (sympy.lambdify), before the loop.",
    Range(0.9, 1.0),
)

SYMPY: Final = Library(
    name="SymPy",
    packages=("sympy",),
    slow_calls={EVERYTHING: {ANY: _SYMPY_CALLED}},
)
