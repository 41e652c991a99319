"""TensorDict."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import Library

LIBRARY: Final = Library(
    name="TensorDict",
    packages=("tensordict",),
    samples=("nn/common.py",),
    policy="nn/",
    is_framework=True,
)
