"""tabulate."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="tabulate",
    also=("tabulate",),
    makes_text=EVERYTHING,
)
