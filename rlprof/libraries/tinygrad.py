"""tinygrad."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import Library

LIBRARY: Final = Library(
    name="tinygrad",
    also=("tinygrad",),
    is_framework=True,
)
