"""Orbax and safetensors: models on disk."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import Library

LIBRARY: Final = Library(
    name="Orbax and safetensors",
    also=("orbax", "safetensors"),
    samples=("torch.py",),
    saving=r".*\.py$",
)
