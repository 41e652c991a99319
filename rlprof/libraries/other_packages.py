"""Packages that trainings import, of which only the names are known."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import Library

LIBRARY: Final = Library(
    name="other packages",
    packages=(
        "PIL",
        "datasets",
        "einops",
        "imageio",
        "optax",
        "psutil",
        "pydantic",
        "torchvision",
        "triton",
        "zmq",
    ),
)
