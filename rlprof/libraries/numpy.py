"""NumPy."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="NumPy",
    packages=("numpy",),
    samples=("lib/npyio.py",),
    saving=r"lib/(npyio|_npyio_impl|format|_format_impl)\.py$",
    makes_text=EVERYTHING,
    does_callers_work=True,
    has_thread_teams=True,
)
