"""A run to be made: one value, from the check that plans it to the process that records it, which is ``main``."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlprof.errors import Failure, RlprofError
from rlprof.gate.processes import (
    command_to_run,
    end_with,
    ending_all_without,
    read_request,
    write_message,
)
from rlprof.gate.program import Counting, Program
from rlprof.model.counters import KERNEL_LAUNCHES, TOLD_ON_DEMAND
from rlprof.recording.ending import EndAfter
from rlprof.recording.record import record
from rlprof.recording.settings import RecordingSettings, TorchWindowPolicy

_IMPORTS_VARIABLE: Final = "RLPROF_IMPORTS_DIR"
"""Tells agents where to write what their processes imported."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    program: Program
    pair: int
    """Counted from 1."""
    folder: Path
    """For what it leaves on disk."""
    counting: Counting
    is_full: bool = False
    """Sampled as by ``rlprof run``; otherwise it is only counted."""
    trains_s: float | None = None
    """Seconds after its first step at which it is ended, as by Ctrl-C; None to let it come to its end."""

    @property
    def name(self) -> str:
        """For messages."""
        return self.program.run_name(self.pair)

    @property
    def run_file(self) -> Path:
        name = f"{'full' if self.is_full else 'pair'}-{self.pair}-{self.program.side.value}"
        return self.folder / f"{name}.rlprof"

    @property
    def request(self) -> Path:
        """File for this value, while it runs."""
        return self.run_file.with_suffix(".request.json")

    @property
    def answer(self) -> Path:
        """File for the :class:`RunAnswer`."""
        return self.run_file.with_suffix(".answer.json")

    @property
    def log(self) -> Path:
        return self.run_file.with_suffix(".log")

    @property
    def imports(self) -> Path:
        """Folder for what its agents tell."""
        return self.run_file.with_suffix(".imports")

    @property
    def environment(self) -> dict[str, str]:
        """As of a shell in the folder of the program.

        The hash seed is the same on both sides and another one in the next pair: the order of a set changes
        how fast a program is, and one seed alone would count as the program.
        """
        environment = {
            "PYTHONHASHSEED": str(self.pair),
            **self.program.environment,
            "PWD": str(self.program.folder),
            # Head's too: paths in the environment reach the layout of memory.
            _IMPORTS_VARIABLE: str(self.imports),
        }
        environment.pop("OLDPWD", None)
        return environment


@dataclass(frozen=True, slots=True)
class RunAnswer:
    exit_code: int
    """The program's own; 128+n for signal n."""
    failure: Failure | None = None
    """Failure that kept it from being recorded."""


def command_for(run: PlannedRun) -> tuple[str, ...]:
    """Write ``run`` to its file; the command that makes it."""
    write_message(run.request, run)
    return command_to_run(__name__, run.request)


def main() -> None:
    """Make the run in the file of the first argument."""
    file, parent = sys.argv[1:]
    end_with(int(parent))
    run = read_request(Path(file), PlannedRun)
    # The program's environment is not ours: it may lead to another rlprof.
    os.environ.clear()
    os.environ.update(run.environment)
    # What a killed recorder leaves goes with the folder of the check.
    tempfile.tempdir = str(run.folder)
    code, failure = 0, None
    try:
        with ending_all_without(int(parent)):
            ends = None if run.trains_s is None else EndAfter(run.trains_s)
            recorded = record(_settings(run), experimenter=ends)
        is_ended_by_us = ends is not None and ends.has_ended_it
        code, failure = 0 if is_ended_by_us else recorded.exit_code, recorded.failure
    except RlprofError as error:
        failure = error
    write_message(run.answer, RunAnswer(code, None if failure is None else Failure.of(failure)))


def _settings(run: PlannedRun) -> RecordingSettings:
    pattern = run.counting.pattern
    is_spare = run.counting.steps_alone and not run.is_full
    asked = frozenset[str]() if run.is_full else frozenset(run.counting.counters)
    return RecordingSettings(
        command=run.program.command,
        script=run.program.script,
        run_file=run.run_file,
        sampling=run.is_full,
        # What the program prints is read without anything inside of it.
        agent=not is_spare or pattern is None,
        # Without the probe no window of torch's profiler is taken, and what torch does is counted.
        probe=run.is_full or bool(asked & TOLD_ON_DEMAND),
        torch=_torch_windows(asked, is_spare=is_spare),
        label=run.program.name,
        sps_pattern=None if pattern is None else re.compile(pattern),
        steps_from=run.counting.function,
        counts_all=not run.is_full,
    )


def _torch_windows(asked: frozenset[str], *, is_spare: bool) -> TorchWindowPolicy:
    if is_spare:
        return TorchWindowPolicy.OFF
    # By the number of updates, not by the clock: the same ones in every run.
    return TorchWindowPolicy.ALWAYS if KERNEL_LAUNCHES in asked else TorchWindowPolicy.AUTO
