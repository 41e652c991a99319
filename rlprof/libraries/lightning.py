"""Lightning, under both its names."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

LIBRARY: Final = Library(
    name="Lightning",
    packages=("lightning",),
    also=("pytorch_lightning",),
    samples=("pytorch/loggers/csv_logs.py",),
    sinks={Sink.METRICS: r".*loggers/"},
    drives=EVERYTHING,
    is_launcher=True,
)
