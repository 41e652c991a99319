"""Ray, with RLlib."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="Ray",
    packages=("ray",),
    drives=EVERYTHING,
    is_launcher=True,
)
