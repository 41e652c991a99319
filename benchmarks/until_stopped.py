"""Programs that train until they are stopped, and print their steps so far or their rate as they go."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import mean
from threading import Thread
from typing import Any, NamedTuple

import psutil
from run_ends import ProgramFailedError

_A_SECOND = r"(?:steps|its?|updates|gens|moves|games|frames|batches|episodes|rounds)/s(?:ec)?"
RATE = re.compile(
    rf"(?:\b[sfu]ps\b|\brate\b)\D{{0,12}}?([\d.]+)|{_A_SECOND}\s*[:=]\s*([\d.]+)|([\d.]+)\s*{_A_SECOND}(?!\s*[:=])",
    re.IGNORECASE,
)
"""``SPS 4500``, ``gens/s: 1.2``, ``2224 steps/s``."""
SETTLING_S = 3.0
"""After the first rate; those that are printed in it are left out."""
LEAST_PRINTED = 2
LONGEST_START_S = 60.0
LONGEST_END_S = 40.0


class Printed(NamedTuple):
    """A number that a program has printed."""

    at: float
    """Monotonic seconds."""
    cpu_s: float
    """CPU time of the process by then, that of its children left out."""
    number: float


class Running:
    """One such program, and what it has printed of the pattern, each with its time."""

    def __init__(self, process: subprocess.Popen[str], pattern: re.Pattern[str]) -> None:
        self.process = process
        self.printed: list[Printed] = []
        self._pattern = pattern
        self._times = psutil.Process(process.pid)
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        # Who ends the program closes its output, with this in the middle of it.
        with suppress(ValueError, psutil.Error):
            for line in self.process.stdout or ():
                if told := [*self._pattern.finditer(line)]:
                    number = float(told[-1][told[-1].lastindex or 0].replace(",", ""))
                    cpu = self._times.cpu_times()
                    self.printed.append(Printed(time.monotonic(), cpu.user + cpu.system, number))

    def train(self, seconds: float) -> list[Printed]:
        """Let it train for so long after it has settled; what it prints in that time."""
        started = time.monotonic()
        while not self.printed:
            if self.process.poll() is not None or time.monotonic() - started > LONGEST_START_S:
                raise ProgramFailedError("it printed no number of steps, and no rate")
            time.sleep(0.1)
        settled = self.printed[0].at + SETTLING_S
        while time.monotonic() < settled + seconds and self.process.poll() is None:
            time.sleep(0.1)
        counted = [each for each in self.printed if each.at > settled]
        if len(counted) < LEAST_PRINTED:
            raise ProgramFailedError("it printed hardly anything once it had settled")
        return counted


@contextmanager
def running(
    command: Sequence[str], folder: Path, pattern: re.Pattern[str] = RATE
) -> Iterator[Running]:
    """Start it; at the end nothing of it is left."""
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    ) as process:
        try:
            yield Running(process, pattern)
        finally:
            # A worker that outlives its parent would keep the output open, which is waited for.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def timed_steps(command: Sequence[str], folder: Path, seconds: float, steps: str) -> dict[str, Any]:
    """The rates (``sps``, ``sps_of_cpu``) of a program by the numbers of steps that it prints: the group of the pattern ``steps``."""
    with running(command, folder, re.compile(steps)) as program:
        first, *_, last = program.train(seconds)
    made = last.number - first.number
    return {
        "sps": made / (last.at - first.at),
        "sps_of_cpu": made / max(1e-9, last.cpu_s - first.cpu_s),
    }


def printed_rate(command: Sequence[str], folder: Path, seconds: float) -> dict[str, Any]:
    """The mean of the rates that it prints (``sps``)."""
    with running(command, folder) as program:
        return {"sps": mean(each.number for each in program.train(seconds))}


def stop_after(
    command: Sequence[str], folder: Path, seconds: float, pattern: re.Pattern[str] = RATE
) -> None:
    """Run what starts such a program, as ``rlprof run`` does, and end the program by SIGTERM."""
    with running(command, folder, pattern) as starter:
        starter.train(seconds)
        program = list(command[command.index("--") + 1 :])
        for each in psutil.Process(starter.process.pid).children():
            with suppress(psutil.NoSuchProcess):
                if each.cmdline()[1:] == program[1:]:
                    each.send_signal(signal.SIGTERM)
        starter.process.wait(LONGEST_END_S)
