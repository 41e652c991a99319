"""Programs and command-line libraries that start other people's code."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import Library

LIBRARY: Final = Library(
    name="launchers",
    packages=("absl", "accelerate"),
    also=(
        "IPython",
        "_pytest",
        "coverage",
        "debugpy",
        "deepspeed",
        "distributed",
        "fire",
        "invoke",
        "ipykernel",
        "jsonargparse",
        "loky",
        "pluggy",
        "pytest",
        "rlprof",
        "simple_parsing",
        "submitit",
        "tornado",
        "traitlets",
        "typer",
        "tyro",
        "xdist",
    ),
    is_launcher=True,
)
