"""The training that rows of several groups attack: started, awaited, and held to its one result."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.attack.arena import PROGRAMS, Arena, Ended, Failed, children_of, is_alive

STEPS = 20_000
"""About 2 s of one core, of an unhurried machine."""

LOST_S = 1.25
"""The second that a killed rlprof may lose, and the quarter of one in which a window closes."""

END_S = 2.0
"""rlprof ends within this time of its target."""

SAMPLER = "austin"

_results: dict[tuple[int, int], str] = {}
"""Of the bare training, by steps and workers."""


@dataclass(frozen=True, slots=True)
class Training:
    """One under way, recorded."""

    arena: Arena
    rlprof: subprocess.Popen[bytes]
    steps: int
    workers: int

    @property
    def target(self) -> int:
        """The program's pid, as it tells itself."""
        return int((self.arena.work / "started").read_text())

    def samplers(self) -> list[int]:
        return children_of(self.rlprof.pid, SAMPLER)

    def wait_for_samplers(self) -> list[int]:
        wanted = max(1, self.workers)
        self.arena.wait_for(
            "a sampler for each process", lambda: len(self.samplers()) >= wanted, 20
        )
        return self.samplers()

    def has_ended(self) -> bool:
        return not is_alive(self.target)

    def finish(self, code: int | None = 0) -> Ended:
        """Wait for the target's end, and then for rlprof's, which has no longer than ``END_S``.

        With ``code``, both must have ended so, and a training that ended well has its result.
        """
        self.arena.wait_for("the end of the target", self.has_ended, 60)
        ended = self.arena.finish(self.rlprof, END_S, "rlprof, after its target's end,")
        if code is not None and ended.code != code:
            raise Failed(f"rlprof ended with {ended.code} instead of {code}: {ended.complaint}")
        if code == 0:
            self.expect_result()
        return ended

    def expect_result(self) -> None:
        """The target has gone on to its end, and made what it makes bare."""
        result = self.arena.work / "result"
        self.arena.wait_for("the target's result", result.exists, 60)
        if result.read_text() != bare_result(self.arena, self.steps, self.workers):
            raise Failed("the result of the training has changed")

    def expect_clean_end(self) -> None:
        self.arena.wait_for("the end of the target", self.has_ended, 60)
        self.arena.expect_nothing_left()

    def expect_recording(self, until: float | None = None) -> dict[str, Any]:
        """The run file opens; it covers all but a second of what was before ``until`` (Unix time)."""
        held = recording_in(self.arena)
        if until is not None:
            lost = until - held["covered_until"]
            if lost > LOST_S * self.arena.patience:
                raise Failed(f"{lost:.1f} s before the kill are lost")
        return held


def start_training(
    arena: Arena,
    *,
    steps: int = STEPS,
    workers: int = 0,
    how: str = "plain",
    options: Sequence[str] = (),
    output: int = subprocess.PIPE,
    wait: bool = True,
) -> Training:
    """Start it under ``rlprof run``; return once it has begun."""
    shutil.copy(PROGRAMS / "training.py", arena.work)
    command = arena.recorded("training.py", str(steps), str(workers), how, options=options)
    training = Training(arena, arena.start(command, output=output), steps, workers)
    if wait:
        arena.wait_for("the start of the training", (arena.work / "started").exists)
    return training


def bare_result(arena: Arena, steps: int = STEPS, workers: int = 0) -> str:
    """The result that the training has without rlprof."""
    if (steps, workers) not in _results:
        folder = arena.folder / "bare"
        folder.mkdir(exist_ok=True)
        program = PROGRAMS / "training.py"
        ended = arena.run([sys.executable, program, str(steps), str(workers)], cwd=folder)
        if ended.code != 0:
            raise Failed(f"the training fails without rlprof: {ended.complaint}")
        _results[steps, workers] = (folder / "result").read_text()
    return _results[steps, workers]


def recording_in(arena: Arena, run_file: Path | None = None) -> dict[str, Any]:
    """The recording that reports read of a run file."""
    run_file = run_file or arena.run_file
    if not run_file.exists():
        raise Failed(f"there is no {run_file.name}")
    ended = arena.run([sys.executable, PROGRAMS / "read_recording.py", run_file])
    if ended.code != 0:
        raise Failed(f"the run file cannot be read: {ended.complaint}")
    held: dict[str, Any] = json.loads(ended.out)
    return held


def kill(pid: int, signum: int) -> bool:
    """Send a signal; False when the process is no more."""
    try:
        os.kill(pid, signum)
    except ProcessLookupError:
        return False
    return True


def pause(arena: Arena, low_s: float, high_s: float) -> None:
    """Let the training come to where nobody has chosen."""
    time.sleep(arena.random.uniform(low_s, high_s))
