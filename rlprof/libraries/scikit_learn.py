"""scikit-learn, and numexpr, of which no more is known."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import Library

LIBRARY: Final = Library(
    name="scikit-learn",
    packages=("sklearn",),
    also=("numexpr",),
    has_thread_teams=True,
)
