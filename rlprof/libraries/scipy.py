"""SciPy."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, Library, SlowCall
from rlprof.libraries.numpy import INVERTED
from rlprof.model.finding import Range

_DISTRIBUTION: Final = SlowCall(
    "scipy.stats is asked for a few numbers at a time",
    "Write the formula with numpy (of a normal distribution -((x - mean) / std) ** 2 / 2 - log(std) - log(2 π) / 2), draw with "
    "numpy's generator, or ask for the numbers of a whole batch at once.",
    Range(0.78, 0.95),
)

LIBRARY: Final = Library(
    name="SciPy",
    packages=("scipy",),
    samples=("linalg/_basic.py", "stats/_distn_infrastructure.py"),
    slow_calls={
        r"stats/(_distn_infrastructure|_multivariate)\.py$": {ANY: _DISTRIBUTION},
        r"linalg/_?basic\.py$": dict.fromkeys(("inv", "pinv"), INVERTED),
    },
    does_callers_work=True,
    has_thread_teams=True,
)
