"""A program bare, and under rlprof, py-spy and austin: how each is started, and what it takes of the machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import NamedTuple

from measuring import TIMEOUT_S, environment, last_json

INTERVAL_MS = 10
"""rlprof's default; austin's here, too, and py-spy's rate is 100 Hz."""

_CHECKOUT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from rlprof.cli import main; main()"

BARE = "bare"
PY_SPY = "py-spy"
AUSTIN = "austin"


class RunFailed(Exception):
    pass


class Ran(NamedTuple):
    """One run of a program, by its own account and by the kernel's."""

    sps: float
    cpu_s_per_step: float
    """Of the program's tree after its imports, with what rides in it."""
    wall_s: float
    besides_cpu_s: float
    """CPU time of everything started but for the program's tree up to the moment at which it told: of the profiler,
    and of the program's own end."""


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    wrap: Callable[[Sequence[str], Path], list[str]]
    """The command that runs a command with output below a folder."""
    passes_exit_code: bool = True
    """Whether it ends with the program's own; austin loses it."""

    def run(self, command: Sequence[str], *, cores: int | None) -> Ran:
        """On so many cores, or on all. Raises :class:`RunFailed`."""
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            wrapped = [*_on(cores), *self.wrap(command, place)]
            with (place / "stdout").open("w+") as out, (place / "stderr").open("w+") as err:
                code, wall_s, cpu_s = _run(wrapped, out.fileno(), err.fileno())
            told = (place / "stdout").read_text()
            if code and self.passes_exit_code:
                last = (place / "stderr").read_text().strip().splitlines()[-3:]
                raise RunFailed(f"ended with {code}: {' / '.join(last)}")
        try:
            # austin says how it fared behind the last line of the program.
            printed = last_json("\n".join(it for it in told.splitlines() if it.startswith("{")))
        except (ValueError, IndexError):
            raise RunFailed(f"the program told no rate, and ended with {code}") from None
        besides_s = cpu_s - printed["tree_cpu_s"]
        return Ran(printed["sps"], printed["cpu_s_per_step"], wall_s, besides_s)


def bare() -> Variant:
    return Variant(BARE, lambda command, _: list(command))


def rlprof(name: str, place: Path | None) -> Variant:
    """``rlprof run`` at its defaults: of this checkout, of the one at ``place``, or of the executable there."""
    if place is None:
        start = [sys.executable, "-m", "rlprof"]
    elif place.is_dir():
        start = [sys.executable, "-c", _CHECKOUT, str(place.resolve())]
    else:
        start = [str(place)]

    def wrap(command: Sequence[str], folder: Path) -> list[str]:
        return [*start, "run", "--no-report", "-o", str(folder / "run.rlprof"), "--", *command]

    return Variant(name, wrap)


def py_spy(executable: Path) -> Variant:
    rate = str(1000 // INTERVAL_MS)

    def wrap(command: Sequence[str], folder: Path) -> list[str]:
        options = ["-r", rate, "-f", "raw", "-o", str(folder / "stacks"), "--subprocesses"]
        return [str(executable), "record", *options, "--", *command]

    return Variant(PY_SPY, wrap)


def austin(executable: Path) -> Variant:
    def wrap(command: Sequence[str], folder: Path) -> list[str]:
        options = ["-i", f"{INTERVAL_MS}ms", "-C", "-o", str(folder / "stacks")]
        return [str(executable), *options, *command]

    return Variant(AUSTIN, wrap, passes_exit_code=False)


def _run(command: Sequence[str], out: int, err: int) -> tuple[int, float, float]:
    """(exit code, wall seconds, CPU seconds of its whole tree) of a command."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        env={**environment(), "AUSTIN_NO_LOGGING": "1"},
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=True,
    )
    limit = Timer(TIMEOUT_S, os.killpg, (process.pid, signal.SIGKILL))
    limit.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        raise
    finally:
        limit.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, time.perf_counter() - started, usage.ru_utime + usage.ru_stime


def _on(cores: int | None) -> list[str]:
    there = sorted(os.sched_getaffinity(0))
    if cores is None or cores >= len(there):
        return []
    return ["taskset", "-c", ",".join(map(str, there[:cores]))]
