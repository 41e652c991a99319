"""Record one run of the gate, in a process of its own: ``main`` is what that process does."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rlprof.errors import RlprofError
from rlprof.gate.processes.own_process import (
    command_to_run,
    end_with,
    ending_all_without,
    read_request,
    write_message,
)
from rlprof.gate.processes.process_group import GRACE_S
from rlprof.gate.program import Program
from rlprof.model.counters import KERNEL_LAUNCHES, TOLD_ON_DEMAND
from rlprof.recording.recorder import record
from rlprof.recording.settings import RecordingSettings, TorchWindows


@dataclass(frozen=True, slots=True)
class Counting:
    """What is counted: steps, if the program is not to be asked, and what else was asked for."""

    pattern: str | None = None
    """Regular expression that finds steps or sps in its output."""
    function: str | None = None
    """``module:function`` whose calls are steps."""
    counters: tuple[str, ...] = ()
    """Names of those that were asked for, and so must be told."""
    steps_alone: bool = False
    """Whether a run that is only counted carries as little of rlprof as steps can be told with."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    command: tuple[str, ...]
    script: str
    environment: dict[str, str]
    run_file: str
    answer: str
    """File for what came of it."""
    is_full: bool
    """Sampled as by ``rlprof run``; otherwise it is only counted."""
    label: str
    counting: Counting


@dataclass(frozen=True, slots=True)
class RunAnswer:
    exit_code: int
    """The program's own; 128+n for signal n."""
    slug: str = ""
    """Of the error that kept it from being recorded; empty without one."""
    message: str = ""
    hint: str = ""


def request_of(
    program: Program, place: Path, *, is_full: bool, label: str, counting: Counting
) -> RunRequest:
    """``place`` is the run file to write; the other files lie beside it."""
    return RunRequest(
        command=program.command,
        script=program.script,
        environment=dict(program.environment),
        run_file=str(place),
        answer=str(place.with_suffix(".answer.json")),
        is_full=is_full,
        label=label,
        counting=counting,
    )


def command_for(request: RunRequest, file: Path) -> tuple[str, ...]:
    """Write ``request`` to ``file``; the command that carries it out."""
    write_message(file, request)
    return command_to_run(__name__, file)


def main() -> None:
    """Record the run that is asked for in the file of the first argument."""
    file, parent = sys.argv[1:]
    end_with(int(parent))
    request = read_request(Path(file), RunRequest)
    # The program's environment is not ours: it may lead to another rlprof.
    os.environ.clear()
    os.environ.update(request.environment)
    # What a killed recorder leaves goes with the folder of the check.
    tempfile.tempdir = str(Path(request.run_file).parent)
    try:
        with ending_all_without(int(parent), GRACE_S):
            outcome = record(_settings(request))
        failure = outcome.failure
        answer = RunAnswer(outcome.exit_code)
    except RlprofError as error:
        failure = error
        answer = RunAnswer(0)
    if failure is not None:
        answer = RunAnswer(answer.exit_code, failure.slug, failure.message, failure.hint)
    write_message(Path(request.answer), answer)


def _settings(request: RunRequest) -> RecordingSettings:
    pattern = request.counting.pattern
    is_spare = request.counting.steps_alone and not request.is_full
    asked = frozenset[str]() if request.is_full else frozenset(request.counting.counters)
    return RecordingSettings(
        command=request.command,
        script=request.script,
        run_file=Path(request.run_file),
        sampling=request.is_full,
        # What the program prints is read without anything inside of it.
        agent=not is_spare or pattern is None,
        # Without the probe no window of torch's profiler is taken, and what torch does is counted.
        probe=request.is_full or bool(asked & TOLD_ON_DEMAND),
        torch=_torch_windows(asked, is_spare=is_spare),
        label=request.label,
        sps_pattern=None if pattern is None else re.compile(os.fsencode(pattern)),
        steps_from=request.counting.function,
    )


def _torch_windows(asked: frozenset[str], *, is_spare: bool) -> TorchWindows:
    if is_spare:
        return TorchWindows.OFF
    # By the number of updates, not by the clock: the same ones in every run.
    return TorchWindows.ALWAYS if KERNEL_LAUNCHES in asked else TorchWindows.AUTO
