"""Hydra."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="Hydra",
    packages=("hydra",),
    configuration=EVERYTHING,
    is_launcher=True,
)
