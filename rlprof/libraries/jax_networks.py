"""Flax, Haiku and Equinox: networks for JAX."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Duty, Library

LIBRARY: Final = Library(
    name="Flax, Haiku and Equinox",
    packages=("flax",),
    also=("equinox", "haiku"),
    samples=("linen/module.py", "training/checkpoints.py"),
    policy=EVERYTHING,
    duties={r"linen/module\.py$": {"apply": Duty.ASKS_NETWORK}},
    saving=r"training/checkpoints\.py$",
    is_framework=True,
)
