"""Loguru."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

LIBRARY: Final = Library(
    name="Loguru",
    also=("loguru",),
    samples=("_handler.py",),
    logging=EVERYTHING,
    sinks={Sink.RECORDS: EVERYTHING},
    # Its Logger._log is where a level that is off is found out.
    emits=r"(_handler|_simple_sinks|_file_sink|_datetime|_recattrs)\.py$",
)
