"""Flax, Haiku and Equinox: networks for JAX."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="Flax, Haiku and Equinox",
    packages=("flax",),
    also=("equinox", "haiku"),
    samples=("training/checkpoints.py",),
    policy=EVERYTHING,
    saving=r"training/checkpoints\.py$",
    is_framework=True,
)
