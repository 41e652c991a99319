"""``rlprof history``: the runs that were recorded, what each gained, and how well gains were promised."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rlprof.cli.formats import TextFormat, in_format
from rlprof.cli.output import (
    LATEST,
    Force,
    OutputFile,
    check_output,
    hand_out,
)
from rlprof.errors import EXIT_ERROR, UsageError

if TYPE_CHECKING:
    from rlprof.documents.blocks import Block
    from rlprof.history.rows import History, HistoryRow, Unread
    from rlprof.verification.verified import VerifiedFix

_QUIET_S: Final = 1.0
"""What takes no longer shows no progress."""

_FILES_PER_PROCESS: Final = 8
"""A run takes about 0.1 s to read and price; starting a process for fewer gains nothing."""


def history(
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR | RUN]...", help="Folders and run files. Default: .rlprof."),
    ] = None,
    format_: Annotated[TextFormat, typer.Option("--format", "-f", help="Of the table.")] = (
        TextFormat.TERMINAL
    ),
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibration",
            help="Instead: what was promised against what came, by `rlprof verify` and `rlprof try`.",
        ),
    ] = False,
    output: OutputFile = None,
    force: Force = False,
) -> None:
    """Show all runs of a folder, and what each gained.

    A gain is over the run before it and over the first, of the same program on the same kind of
    machine. Fixes that `rlprof verify` measured stand below, beside what was promised for them.
    """
    files = _files(places or [LATEST.parent])
    if output is not None:
        check_output(output, force=force, reads=files)
    found = _read(files)
    as_json, blocks = _calibration(found) if calibration else _history(found)
    hand_out(in_format(format_, as_json, blocks, to_file=output is not None), output, force=force)
    if found.is_empty:
        raise typer.Exit(EXIT_ERROR)


def _files(places: list[Path]) -> list[Path]:
    from rlprof.history.rows import history_files

    files = history_files(places)
    # One missing file among others is listed with them; no file at all is a slip in the line.
    if not any(file.exists() for file in files):
        raise UsageError(
            f"there is no run file in {', '.join(map(str, places))} (from {Path.cwd()})",
            slug="no-run",
            hint="record one with `rlprof run train.py`, or name a folder with run files",
        )
    return files


def _read(files: list[Path]) -> History:
    from rlprof.history.rows import history_of

    rows = []
    progress = _Progress(len(files))
    for row in _rows(files):
        rows.append(row)
        progress.update(len(rows))
    progress.clear()
    return history_of(rows)


def _rows(files: list[Path]) -> Iterator[HistoryRow | VerifiedFix | Unread]:
    """Yield what is in each file, in their order; many files are shared out among the cores."""
    from concurrent.futures import ProcessPoolExecutor

    from rlprof.history.rows import read_row

    processes = min(len(os.sched_getaffinity(0)), len(files) // _FILES_PER_PROCESS)
    if processes < 2:
        yield from map(read_row, files)
        return
    # A Ctrl-C is for us alone: a traceback from each process would say nothing more.
    with ProcessPoolExecutor(
        processes, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    ) as pool:
        yield from pool.map(read_row, files)


def _history(found: History) -> tuple[Callable[[], str], Callable[[], Iterator[Block]]]:
    """As JSON, and in blocks."""
    from rlprof.history.document import history_document
    from rlprof.history.json_document import history_as_json

    return partial(history_as_json, found), partial(history_document, found)


def _calibration(found: History) -> tuple[Callable[[], str], Callable[[], Iterator[Block]]]:
    from rlprof.history.calibration import calibration_of
    from rlprof.history.document import calibration_document
    from rlprof.history.json_document import calibration_as_json

    calibration = calibration_of(found)
    return partial(calibration_as_json, calibration), partial(calibration_document, calibration)


class _Progress:
    """One line on stderr for those who wait; silent where stderr is no terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._started = time.monotonic()
        self._is_shown = False
        self._is_on = sys.stderr is not None and sys.stderr.isatty()

    def update(self, number: int) -> None:
        if self._is_on and time.monotonic() - self._started > _QUIET_S:
            self._is_shown = True
            sys.stderr.write(f"\rreading run {number} of {self._total}\x1b[K")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
