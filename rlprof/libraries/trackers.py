"""Metrics of training runs: written to files, or sent to a service."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

METRIC_SERVICES: Final = Library(
    name="Comet, ClearML and SwanLab",
    also=("clearml", "comet_ml", "swanlab"),
    sinks={Sink.METRICS: EVERYTHING},
)
"""Comet, ClearML and SwanLab: metrics of training runs, sent to a service."""
TENSORBOARD: Final = Library(
    name="TensorBoard",
    packages=("tensorboard",),
    samples=("summary/writer/event_file_writer.py",),
    logging=EVERYTHING,
    sinks={Sink.METRICS: "(summary|compat)/"},
)
TRACKERS: Final = Library(
    name="trackers of experiments",
    packages=("mlflow", "wandb"),
    also=("aim", "neptune", "tensorboardX"),
    logging=EVERYTHING,
    sinks={Sink.METRICS: EVERYTHING},
)
"""Weights & Biases, MLflow, Aim, Neptune and tensorboardX: metrics of training runs."""
