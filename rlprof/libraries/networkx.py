"""NetworkX."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, SlowCall
from rlprof.model.finding import Range

_CALLED: Final = SlowCall(
    "NetworkX walks a graph again and again",
    "Where the graph stays, compute it for all nodes once and keep the table, or keep results by their arguments (functools.lru_cache).",
    # Of a graph that changes there is nothing to keep.
    Range(0.0, 0.99),
)

LIBRARY: Final = Library(
    name="NetworkX",
    packages=("networkx",),
    slow_calls={EVERYTHING: {ANY: _CALLED}},
)
