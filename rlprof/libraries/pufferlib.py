"""PufferLib."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, StepSource

LIBRARY: Final = Library(
    name="PufferLib",
    packages=("pufferlib",),
    environment=EVERYTHING,
    drives=EVERYTHING,
    step_sources=(StepSource("steps:pufferlib", "PufferLib vector env", rank=10),),
)
