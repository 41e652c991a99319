"""Run programs to their end, alone or two in turns, and take what they printed."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from measuring import last_json, training_environment
from neighbours import Neighbours, wait_for_quiet

from rlprof.gate.turns import take_turns

RUN_TIMEOUT_S = 180
"""Programs end by themselves after some ten seconds, two in turns after twenty; a busy machine makes that a minute or two."""

QUIET_CORES = 0.1
"""What other programs may take for a machine to count as quiet."""

TURN_S = 0.15
"""Of two programs, in the mean. Runs one after the other see another machine: neighbours, clock rates and caches change from second
to second, and a fault of 0.20 was measured as 0.39 in two pairs that agreed. A wait that is longer than a turn is over while its program
is stopped; and the measured seconds begin and end within a turn, so that turns must be short beside them.
"""


class ProgramFailedError(Exception):
    """A program or rlprof did not end as it should; the message shows what it printed."""


class Command(NamedTuple):
    """What to run, and where."""

    arguments: Sequence[str]
    folder: Path | None = None

    def __str__(self) -> str:
        return " ".join(self.arguments)


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    stdout: str
    stderr: str
    wall_s: float
    """From its start; of one that took turns, those of the other are in it."""

    @property
    def told(self) -> dict[str, Any]:
        """What it tells of itself, as JSON in its last line."""
        return last_json(self.stdout)


def ended(command: Command, *, timeout_s: float = RUN_TIMEOUT_S) -> Ended:
    """Run ``command`` to its end. With all its workers it is ended when it takes too long."""
    return _end_of(_started(command), command, timeout_s)


def run_to_the_end(arguments: Sequence[str], folder: Path | None = None) -> str:
    """The command's stdout. Raises :class:`ProgramFailedError`."""
    command = Command(arguments, folder)
    return _well(ended(command), command).stdout


def pairs_in_turns(
    rounds: int, before: Command, after: Command, patience_s: float
) -> list[tuple[Ended, Ended, float]]:
    """(Before, after, cores that other programs took) of each round, begun when the machine is quiet or patience has an end.

    The two run at the same time and take turns, so that what slows the one slows the other as much; every other round
    ``after`` has the first turn. Raises :class:`ProgramFailedError`.
    """
    made = []
    for number in range(rounds):
        wait_for_quiet(QUIET_CORES, patience_s)
        others = Neighbours()
        if number % 2:
            second, first = _in_turns(after, before)
        else:
            first, second = _in_turns(before, after)
        made.append((first, second, others.cores))
    return made


def _in_turns(one: Command, other: Command) -> tuple[Ended, Ended]:
    commands = (one, other)
    processes: list[subprocess.Popen[str]] = []
    ends: list[Future[Ended]] = []
    with ThreadPoolExecutor(len(commands)) as readers:
        try:
            for command in commands:
                processes.append(_started(command))
                # What fills a pipe has to be read while it runs.
                ends.append(readers.submit(_end_of, processes[-1], command, RUN_TIMEOUT_S))
            take_turns(
                [process.pid for process in processes],
                turn_s=TURN_S,
                until=lambda: any(process.poll() for process in processes),
            )
        finally:
            for process in processes:
                if process.poll() is None:
                    kill_tree(process.pid)
        first, second = (
            _well(end.result(), command) for end, command in zip(ends, commands, strict=True)
        )
    return first, second


def _started(command: Command) -> subprocess.Popen[str]:
    return subprocess.Popen(
        list(command.arguments),
        cwd=command.folder,
        env=training_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _end_of(process: subprocess.Popen[str], command: Command, timeout_s: float) -> Ended:
    started = time.perf_counter()
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except BaseException as reason:
        kill_tree(process.pid)
        process.communicate()
        if isinstance(reason, subprocess.TimeoutExpired):
            raise ProgramFailedError(f"{command} took more than {timeout_s:g} s") from reason
        raise
    return Ended(process.returncode, stdout, stderr, time.perf_counter() - started)


def _well(end: Ended, command: Command) -> Ended:
    if end.code:
        raise ProgramFailedError(f"{command} ended with {end.code}\n{end.stdout}\n{end.stderr}")
    return end


def kill_tree(pid: int) -> None:
    """End the process and all below it: what rlprof records has a process group of its own, and
    workers that outlive their parent keep its output open.
    """
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
