"""gym, up to 0.26; its steps are counted as gymnasium's."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="gym",
    packages=("gym",),
    samples=("wrappers/time_limit.py",),
    environment=EVERYTHING,
    wrappers="(wrappers|utils|vector)",
    drives=EVERYTHING,
)
