"""Libraries that print, log and lay out text."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Library, Sink

CLICK: Final = Library(
    name="Click",
    also=("click",),
    samples=("utils.py",),
    sinks={Sink.PRINT: r"utils\.py$"},
    is_launcher=True,
)
LOGURU: Final = Library(
    name="Loguru",
    also=("loguru",),
    samples=("_handler.py",),
    logging=EVERYTHING,
    sinks={Sink.RECORDS: EVERYTHING},
    # Its Logger._log is where a level that is off is found out.
    emits=r"(_handler|_simple_sinks|_file_sink|_datetime|_recattrs)\.py$",
)
RICH: Final = Library(
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
STRUCTLOG: Final = Library(
    name="structlog",
    also=("structlog",),
    samples=("processors.py",),
    logging=EVERYTHING,
    sinks={Sink.RECORDS: EVERYTHING},
    emits=r"(dev|processors)\.py$",
)
TABULATE: Final = Library(
    name="tabulate",
    also=("tabulate",),
    makes_text=EVERYTHING,
)
TQDM: Final = Library(
    name="tqdm",
    packages=("tqdm",),
    logging=EVERYTHING,
    sinks={Sink.PROGRESS: EVERYTHING},
)
