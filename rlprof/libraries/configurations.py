"""Configurations, and the files that they are read from."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, SlowCall
from rlprof.model.finding import Range

OMEGACONF: Final = Library(
    name="OmegaConf, ml_collections and Gin",
    packages=("omegaconf",),
    also=("antlr4", "gin", "ml_collections"),
    configuration=EVERYTHING,
)
"""OmegaConf, ml_collections and Gin, with the parser that OmegaConf uses."""
HYDRA: Final = Library(
    name="Hydra",
    packages=("hydra",),
    configuration=EVERYTHING,
    is_launcher=True,
)
_PARSED: Final = SlowCall(
    "a YAML text is parsed again and again",
    "Read it once, before the loop, and hand on what it says.",
    Range(0.95, 1.0),
)

YAML: Final = Library(
    name="PyYAML",
    packages=("yaml",),
    slow_calls={EVERYTHING: {ANY: _PARSED}},
    configuration=EVERYTHING,
)
