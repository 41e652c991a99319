"""SciPy."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, Library, SlowCall
from rlprof.libraries.numpy import INVERTED
from rlprof.model.finding import Range

_FORMULA: Final = (
    "Write the formula with numpy (of a normal distribution -((x - mean) / std) ** 2 / 2 - log(std) - log(2 π) / 2), draw with "
    "numpy's generator, or ask for the numbers of a whole batch at once."
)
_FEW: Final = 1_000
_DISTRIBUTION: Final = SlowCall(
    "scipy.stats is asked for a few numbers",
    _FORMULA,
    Range(0.6, 0.99),
    works=r"stats/_(continuous|discrete)_distns\.py$",
    up_to_numbers=_FEW,
)
_MULTIVARIATE: Final = SlowCall(
    "scipy.stats is asked for a few vectors",
    _FORMULA,
    Range(0.4, 0.99),
    up_to_numbers=_FEW,
)

LIBRARY: Final = Library(
    name="SciPy",
    packages=("scipy",),
    samples=("linalg/_basic.py", "stats/_distn_infrastructure.py", "stats/_multivariate.py"),
    slow_calls={
        r"stats/_distn_infrastructure\.py$": {ANY: _DISTRIBUTION},
        r"stats/_multivariate\.py$": {ANY: _MULTIVARIATE},
        r"linalg/_?basic\.py$": dict.fromkeys(("inv", "pinv"), INVERTED),
    },
    does_callers_work=True,
    has_thread_teams=True,
)
