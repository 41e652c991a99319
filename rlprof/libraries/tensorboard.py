"""TensorBoard."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

LIBRARY: Final = Library(
    name="TensorBoard",
    packages=("tensorboard",),
    samples=("summary/writer/event_file_writer.py",),
    logging=EVERYTHING,
    sinks={Sink.METRICS: "(summary|compat)/"},
)
