"""Arrays and tables, and what computes on them."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARIES: Final = (
    Library(
        name="NumPy",
        packages=("numpy",),
        samples=("lib/npyio.py",),
        saving=r"lib/(npyio|_npyio_impl|format|_format_impl)\.py$",
        makes_text=EVERYTHING,
        does_callers_work=True,
        has_thread_teams=True,
    ),
    # They compute in C for the line that called them.
    Library(
        name="SciPy, Numba, OpenCV and jaxlib",
        packages=("cv2", "jaxlib", "numba", "scipy"),
        does_callers_work=True,
        has_thread_teams=True,
    ),
    Library(
        name="pandas",
        packages=("pandas",),
        makes_text=EVERYTHING,
        has_thread_teams=True,
    ),
    # With numexpr, of which no more is known.
    Library(
        name="scikit-learn",
        packages=("sklearn",),
        also=("numexpr",),
        has_thread_teams=True,
    ),
)
