"""Comet, ClearML and SwanLab: metrics of training runs, sent to a service."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

LIBRARY: Final = Library(
    name="Comet, ClearML and SwanLab",
    also=("clearml", "comet_ml", "swanlab"),
    sinks={Sink.METRICS: EVERYTHING},
)
