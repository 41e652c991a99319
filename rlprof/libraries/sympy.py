"""SymPy."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, SlowCall
from rlprof.model.finding import Range

_CALLED: Final = SlowCall(
    "SymPy works on formulas in a loop",
    "Make a function of numbers of the formula once (sympy.lambdify), before the loop.",
    Range(0.9, 1.0),
)

LIBRARY: Final = Library(
    name="SymPy",
    packages=("sympy",),
    slow_calls={EVERYTHING: {ANY: _CALLED}},
)
