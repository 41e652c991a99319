"""JAX, without jaxlib, which starts no one's code."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import Library

LIBRARY: Final = Library(
    name="JAX",
    packages=("jax",),
    samples=("_src/compiler.py",),
    is_launcher=True,
    is_framework=True,
    does_callers_work=True,
    has_thread_teams=True,
    compilers=r"_src/compiler\.py$",
)
