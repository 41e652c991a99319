"""Libraries with training loops, which call the program back."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

LIGHTNING: Final = Library(
    name="Lightning",
    packages=("lightning",),
    also=("pytorch_lightning",),
    samples=("pytorch/loggers/csv_logs.py",),
    sinks={Sink.METRICS: r".*loggers/"},
    drives=EVERYTHING,
    is_launcher=True,
)
"""Lightning, under both its names."""
RAY: Final = Library(
    name="Ray",
    packages=("ray",),
    drives=EVERYTHING,
    is_launcher=True,
)
"""Ray, with RLlib."""
TRAINING_LOOPS: Final = Library(
    name="training loops",
    packages=("sample_factory", "transformers"),
    also=("acme", "optuna", "rl_games", "rsl_rl", "sb3_contrib", "skrl"),
    drives=EVERYTHING,
)
"""Libraries with training loops: all that is known of them is that they call back."""
