"""Weights & Biases, MLflow, Aim, Neptune and tensorboardX: metrics of training runs."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

LIBRARY: Final = Library(
    name="trackers of experiments",
    packages=("mlflow", "wandb"),
    also=("aim", "neptune", "tensorboardX"),
    logging=EVERYTHING,
    sinks={Sink.METRICS: EVERYTHING},
)
