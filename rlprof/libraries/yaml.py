"""PyYAML."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, SlowCall
from rlprof.model.finding import Range

_PARSED: Final = SlowCall(
    "a YAML text is parsed again and again",
    "Read it once, before the loop, and hand on what it says.",
    Range(0.95, 1.0),
)

LIBRARY: Final = Library(
    name="PyYAML",
    packages=("yaml",),
    slow_calls={EVERYTHING: {ANY: _PARSED}},
    configuration=EVERYTHING,
)
