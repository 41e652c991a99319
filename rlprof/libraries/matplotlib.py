"""Matplotlib."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, Sink, SlowCall
from rlprof.model.finding import Range

_CALLED: Final = SlowCall(
    "figures are drawn while it trains",
    "Write down the numbers, and draw them after the training, every so many episodes, or in a process of its own.",
    Range(0.8, 1.0),
)

LIBRARY: Final = Library(
    name="Matplotlib",
    packages=("matplotlib",),
    samples=("figure.py",),
    slow_calls={EVERYTHING: {ANY: _CALLED}},
    sinks={Sink.FILES: r"figure\.py$"},
)
