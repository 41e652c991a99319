"""joblib."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="joblib",
    packages=("joblib",),
    samples=("numpy_pickle.py",),
    saving=r"numpy_pickle\.py$",
    drives=EVERYTHING,
    is_launcher=True,
)
