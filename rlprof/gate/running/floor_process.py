"""Measure against a floor in a process of its own: ``main`` is what that process does.

Who asks may be anybody's pytest, with servers and threads of its own. To end a run whole takes a process
below which everything belongs to the run, and whose signals are free.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlprof.errors import Failure, MeasureError
from rlprof.gate.floor import Floor, FloorRun, is_settled
from rlprof.gate.processes.own_process import (
    command_to_run,
    end_with,
    read_answer,
    read_request,
    write_message,
)
from rlprof.gate.processes.process_session import last_lines
from rlprof.gate.program import Counting, Program

if TYPE_CHECKING:
    from rlprof.gate.measured_run import MeasuredRun

_TIDY_S: Final = 15.0
"""In which a process that was told to stop has ended its run: it takes up to five seconds by itself."""


@dataclass(frozen=True, slots=True)
class FloorRequest:
    program: Program
    counting: Counting
    floor: Floor
    timeout_s: float
    """Of one run."""


@dataclass(frozen=True, slots=True)
class _Answer:
    runs: tuple[FloorRun, ...]
    failure: Failure | None = None
    """What could not be measured."""


def measure_apart(
    request: FloorRequest, place: Path, environment: Mapping[str, str]
) -> tuple[FloorRun, ...]:
    """Run the program until the floor is settled; its files go into the folder ``place``.

    Raises :class:`MeasureError`. Whatever ends the wait, as Ctrl-C or a time limit, ends the run first.
    """
    asked, answered, log = (place / name for name in ("request.json", "answer.json", "floor.log"))
    write_message(asked, request)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command_to_run(__name__, place),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            _wait_or_kill(process)
        asked.unlink(missing_ok=True)
    answer = read_answer(answered, _Answer)
    if answer is None:
        raise MeasureError(
            f"the measurement of {request.program.name} ended without a word\n{last_lines(log)}",
            slug="recording-lost",
            hint="was it killed, or is the machine out of memory? Otherwise please report it",
        )
    if answer.failure is not None:
        raise answer.failure.error()
    return answer.runs


def main() -> None:
    """Measure what is asked for in the folder of the first argument, and write the answer there."""
    from rlprof.gate.processes.interruption import Interrupted, interruptible
    from rlprof.gate.processes.process_session import adopting_orphans

    folder, parent = sys.argv[1:]
    end_with(int(parent))
    place = Path(folder)
    try:
        with interruptible(), adopting_orphans():
            answer = _measured(read_request(place / "request.json", FloorRequest), place)
    except Interrupted as stop:
        sys.exit(128 + stop.signum)
    write_message(place / "answer.json", answer)


def _measured(request: FloorRequest, place: Path) -> _Answer:
    from rlprof.gate.running.runner import Runner

    runner = Runner(
        place,
        timeout_s=request.timeout_s,
        counting=request.counting,
        needs_rate=request.floor.at_least is not None,
    )
    runs: list[FloorRun] = []
    try:
        while not is_settled(request.floor, runs):
            runs.append(floor_run(runner.measure(request.program, len(runs) + 1)))
    except MeasureError as error:
        return _Answer(tuple(runs), Failure.of(error))
    return _Answer(tuple(runs))


def floor_run(run: MeasuredRun) -> FloorRun:
    return FloorRun(
        sps=run.sps,
        unit=run.unit,
        source=run.source,
        steps=run.steps,
        counters={name: value for name, value in run.counters.per_step.items() if value},
    )


def _wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_TIDY_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
