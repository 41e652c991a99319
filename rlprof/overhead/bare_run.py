"""A run of a program with nothing of rlprof in it or beside it, timed."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rlprof.errors import MeasureError
from rlprof.gate.processes import ProcessSession, last_lines
from rlprof.gate.program import Program
from rlprof.gate.runner import timed_out


def seconds_of(program: Program, number: int, log: Path, *, timeout_s: float) -> float:
    """Run ``program`` to its end. Raises :class:`MeasureError` when it cannot be started, fails or takes too long."""
    name = program.run_name(number)
    session = ProcessSession(
        program.command,
        # As runs with rlprof have it: the order of a set changes how fast a program is.
        environment={"PYTHONHASHSEED": str(number), **program.environment},
        folder=program.folder,
        log=log,
    )
    started = time.monotonic()
    try:
        with session:
            code = session.wait(timeout_s)
            taken_s = time.monotonic() - started
    except OSError as error:
        raise MeasureError(
            f"cannot start {program.command[0]}: {error.strerror or error}",
            slug="target-not-started",
            hint=f"check that {os.fspath(program.command[0])} exists and can be executed",
        ) from error
    if code is None:
        raise timed_out(name, log, timeout_s)
    if code:
        raise MeasureError(
            f"{name} failed with exit code {code if code > 0 else 128 - code}\n{last_lines(log)}",
            slug="program-failed",
            hint="run it by itself to see why",
        )
    return taken_s
