"""Keras."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="Keras",
    also=("keras",),
    drives=EVERYTHING,
    is_framework=True,
)
