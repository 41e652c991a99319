"""pandas."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="pandas",
    packages=("pandas",),
    makes_text=EVERYTHING,
    has_thread_teams=True,
)
