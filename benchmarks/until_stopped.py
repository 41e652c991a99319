"""Programs that train until they are stopped, and print their rate as they go."""

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

import psutil
from accuracy import ProgramFailedError

_A_SECOND = r"(?:steps|its?|updates|gens|moves|games|frames|batches|episodes|rounds)/s(?:ec)?"
RATE = re.compile(
    rf"(?:\b[sfu]ps\b|\brate\b)\D{{0,12}}?([\d.]+)|{_A_SECOND}\s*[:=]\s*([\d.]+)|([\d.]+)\s*{_A_SECOND}(?!\s*[:=])",
    re.IGNORECASE,
)
"""``SPS 4500``, ``gens/s: 1.2``, ``2224 steps/s``."""
SETTLING_S = 3.0
"""After the first rate; those that are printed in it are left out."""
LONGEST_START_S = 60.0
LONGEST_END_S = 40.0


class Running:
    """One such program, and the rates that it has printed, each with its time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.rates: list[tuple[float, float]] = []
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        # Who ends the program closes its output, with this in the middle of it.
        with suppress(ValueError):
            for line in self.process.stdout or ():
                if told := [*RATE.finditer(line)]:
                    self.rates.append((time.monotonic(), float(told[-1][told[-1].lastindex or 0])))

    def train(self, seconds: float) -> float:
        """Let it train for so long after it has settled; the mean of the rates that it prints."""
        started = time.monotonic()
        while not self.rates:
            if self.process.poll() is not None or time.monotonic() - started > LONGEST_START_S:
                raise ProgramFailedError("it printed no rate")
            time.sleep(0.1)
        settled = self.rates[0][0] + SETTLING_S
        while time.monotonic() < settled + seconds and self.process.poll() is None:
            time.sleep(0.1)
        counted = [rate for at, rate in self.rates if at > settled]
        if not counted:
            raise ProgramFailedError("it printed no rate once it had settled")
        return mean(counted)


@contextmanager
def running(command: Sequence[str], folder: Path) -> Iterator[Running]:
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
            yield Running(process)
        finally:
            # A worker that outlives its parent would keep the output open, which is waited for.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def printed_rate(command: Sequence[str], folder: Path, seconds: float) -> float:
    with running(command, folder) as program:
        return program.train(seconds)


def stop_after(command: Sequence[str], folder: Path, seconds: float) -> None:
    """Run what starts such a program, as ``rlprof run`` does, and end the program by SIGTERM."""
    with running(command, folder) as starter:
        starter.train(seconds)
        program = list(command[command.index("--") + 1 :])
        for each in psutil.Process(starter.process.pid).children():
            with suppress(psutil.NoSuchProcess):
                if each.cmdline()[1:] == program[1:]:
                    each.send_signal(signal.SIGTERM)
        starter.process.wait(LONGEST_END_S)
