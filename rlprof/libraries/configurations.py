"""OmegaConf, ml_collections and Gin, with the parser that OmegaConf uses."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="OmegaConf, ml_collections and Gin",
    packages=("omegaconf",),
    also=("antlr4", "gin", "ml_collections"),
    configuration=EVERYTHING,
)
