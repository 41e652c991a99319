"""Options: files and command lines that are read and resolved."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARIES: Final = (
    # With the parser that OmegaConf uses.
    Library(
        name="OmegaConf, ml_collections, Gin and YAML",
        packages=("omegaconf", "yaml"),
        also=("antlr4", "gin", "ml_collections"),
        configuration=EVERYTHING,
    ),
    Library(
        name="Hydra",
        packages=("hydra",),
        configuration=EVERYTHING,
        is_launcher=True,
    ),
)
