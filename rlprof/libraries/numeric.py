"""Other libraries that compute in C for the line that called them."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import Library

LIBRARY: Final = Library(
    name="Numba, numexpr, OpenCV and jaxlib",
    packages=("cv2", "jaxlib", "numba", "numexpr"),
    does_callers_work=True,
    has_thread_teams=True,
)
