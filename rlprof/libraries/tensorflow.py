"""TensorFlow."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import Library

LIBRARY: Final = Library(
    name="TensorFlow",
    packages=("tensorflow",),
    is_framework=True,
    has_thread_teams=True,
)
