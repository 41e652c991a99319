"""Libraries with training loops: all that is known of them is that they call back."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library

LIBRARY: Final = Library(
    name="training loops",
    packages=("sample_factory", "transformers"),
    also=("acme", "optuna", "rl_games", "rsl_rl", "sb3_contrib", "skrl"),
    drives=EVERYTHING,
)
