"""NetworkX."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, SlowCall
from rlprof.model.finding import Range

_CALLED: Final = SlowCall(
    "NetworkX goes through a graph again and again",
    "Where the graph stays, compute it for all nodes once and keep the table, or keep results by their arguments (functools.lru_cache); where it changes, scipy.sparse.csgraph does the same in C.",
    Range(0.5, 0.99),
)

LIBRARY: Final = Library(
    name="NetworkX",
    packages=("networkx",),
    slow_calls={EVERYTHING: {ANY: _CALLED}},
)
