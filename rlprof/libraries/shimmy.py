"""Shimmy, which makes gymnasium environments of others."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="Shimmy",
    also=("shimmy",),
    samples=("utils/dm_env.py",),
    environment=EVERYTHING,
    wrappers="(wrappers|utils|vector)",
)
