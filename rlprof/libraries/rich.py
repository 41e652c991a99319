"""Rich."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

LIBRARY: Final = Library(
    name="Rich",
    packages=("rich",),
    samples=("console.py", "progress.py"),
    logging=EVERYTHING,
    sinks={
        Sink.PRINT: r"(console|_log_render)\.py$",
        Sink.PROGRESS: r"(progress|live)\.py$",
    },
    makes_text=EVERYTHING,
)
