"""A floor under the speed of a training, and a ceiling over its counters, measured in a process of its own.

What else a machine does makes a run slower and never faster. So a run that reaches the floor shows that
the training can, and one that misses it shows nothing until others have missed it too. Counts
depend on no clock: the first run that is above decides.

Who asks may be anybody's pytest, with servers and threads of its own. To end a run whole takes a process
below which everything belongs to the run, and whose signals are free: ``main`` is what that process does.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlprof.errors import Failure, MeasureError, exit_code_of_signal
from rlprof.gate.counters import ROUNDING
from rlprof.gate.processes import (
    command_to_run,
    end_with,
    ended_without_a_word,
    read_answer,
    read_request,
    write_message,
)
from rlprof.gate.program import Counting, Program
from rlprof.model.profile import Interval
from rlprof.report import wording

if TYPE_CHECKING:
    from rlprof.gate.measured_run import MeasuredRun


@dataclass(frozen=True, slots=True)
class Floor:
    at_least: float | None
    """Steps per second; None where only counters are judged."""
    counters: Mapping[str, float]
    """The most of each per step."""
    runs: int
    """At most so many."""


@dataclass(frozen=True, slots=True)
class FloorRun:
    """Result of one run."""

    sps: Interval | None
    """Steady; None where only counters are judged and the run was too short for a rate."""
    unit: str
    """``steps``, or ``updates`` where optimizer steps stand in."""
    source: str
    steps: float
    counters: Mapping[str, float]
    """Per step, over the whole run; what did not occur is left out."""


def is_settled(floor: Floor, runs: Sequence[FloorRun]) -> bool:
    """Tell whether one more run is not wanted."""
    if not runs:
        return False
    return (
        floor.at_least is None
        or len(runs) >= floor.runs
        or bool(_above(floor, runs[-1]))
        or _reaches(floor.at_least, runs[-1])
    )


def fastest(runs: Sequence[FloorRun]) -> FloorRun:
    """The run that the floor is about; without rates the last one."""
    rated = [run for run in runs if run.sps is not None]
    return max(rated, key=_rate, default=runs[-1])


def missed(floor: Floor, runs: Sequence[FloorRun]) -> str:
    """That no run was fast enough, in words; empty where one was, or where that is not asked for.

    Call it only when no counter is exceeded: one that is ends the runs before the floor is settled.
    """
    if floor.at_least is None or any(_reaches(floor.at_least, run) for run in runs):
        return ""
    return _rates_in_words(floor.at_least, runs)


def _rate(run: FloorRun) -> float:
    return 0.0 if run.sps is None else run.sps.median


def _reaches(at_least: float, run: FloorRun) -> bool:
    return run.sps is not None and run.sps.median >= at_least


def _above(floor: Floor, run: FloorRun) -> list[str]:
    """Counters of which ``run`` has more than is allowed."""
    return [
        name
        for name, most in floor.counters.items()
        if (run.counters.get(name, 0.0) - most) * run.steps > ROUNDING
    ]


def exceeded(floor: Floor, runs: Sequence[FloorRun]) -> Iterator[str]:
    """Yield each counter that a run had too much of, in words."""
    for number, run in enumerate(runs, 1):
        for name in _above(floor, run):
            found = run.counters[name]
            yield wording.unglued(
                f"run {number} counted {wording.count(found)} {name} per step "
                f"({wording.count(round(found * run.steps))} in {wording.count(run.steps)} steps); "
                f"at most {wording.count(floor.counters[name])} per step are asked for"
            )


def _rates_in_words(at_least: float, runs: Sequence[FloorRun]) -> str:
    best = fastest(runs)
    assert best.sps is not None, "the runner refuses runs without a rate"
    who = "the run" if len(runs) == 1 else f"the fastest of {len(runs)} runs"
    told = _rate_in_words(best.sps.median, at_least)
    text = f"{who} made {told} {wording.rate_unit(best)}; at least {wording.count(at_least)} are asked for"
    if len(runs) > 1:
        rates = ", ".join(_rate_in_words(_rate(run), at_least) for run in runs)
        text += f" (all runs: {rates})"
    return wording.unglued(text)


def _rate_in_words(rate: float, at_least: float) -> str:
    """In as many digits as show that it is not ``at_least``."""
    told = wording.rate(rate)
    return f"{rate:.6g}" if told == wording.count(at_least) else told


# --- measuring in a process of its own --------------------------------------------------------

_TIDY_S: Final = 15.0
"""In which a process that was told to stop has ended its run: it takes up to five seconds by itself."""


@dataclass(frozen=True, slots=True)
class FloorRequest:
    program: Program
    counting: Counting
    floor: Floor
    timeout_s: float
    """Time limit of one run."""


@dataclass(frozen=True, slots=True)
class _FloorAnswer:
    runs: tuple[FloorRun, ...]
    failure: Failure | None = None
    """Failure that ended the measurement."""


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
    answer = read_answer(answered, _FloorAnswer)
    if answer is None:
        raise ended_without_a_word(f"the measurement of {request.program.name}", log)
    if answer.failure is not None:
        raise answer.failure.error()
    return answer.runs


def main() -> None:
    """Measure what is asked for in the folder of the first argument, and write the answer there."""
    from rlprof.gate.interruption import Interrupted, interruptible
    from rlprof.gate.processes import adopting_orphans

    folder, parent = sys.argv[1:]
    end_with(int(parent))
    place = Path(folder)
    try:
        with interruptible(), adopting_orphans():
            answer = _measured(read_request(place / "request.json", FloorRequest), place)
    except Interrupted as stop:
        sys.exit(exit_code_of_signal(stop.signum))
    write_message(place / "answer.json", answer)


def _measured(request: FloorRequest, place: Path) -> _FloorAnswer:
    from rlprof.gate.runner import Runner

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
        return _FloorAnswer(tuple(runs), Failure.of(error))
    return _FloorAnswer(tuple(runs))


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
