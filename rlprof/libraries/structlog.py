"""structlog."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

LIBRARY: Final = Library(
    name="structlog",
    also=("structlog",),
    samples=("processors.py",),
    logging=EVERYTHING,
    sinks={Sink.RECORDS: EVERYTHING},
    emits=r"(dev|processors)\.py$",
)
