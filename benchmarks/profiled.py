"""A program bare, and under rlprof, py-spy and austin: how each is started, and what it takes of the machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread, Timer
from typing import NamedTuple

from measuring import TIMEOUT_S, environment, last_json

INTERVAL_MS = 10
"""rlprof's default; austin's here, too, and py-spy's rate is 100 Hz."""

SETTLED_S = 35.0
"""rlprof looks less often after 30 s; py-spy and austin do not."""

LOOK_S = 0.5

_CHECKOUT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from rlprof.cli.commands import main; main()"
)

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
    settled_cores: float
    """CPU time of the profiler over wall time, from ``SETTLED_S`` or the half of a shorter program to its end."""


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    wrap: Callable[[Sequence[str], Path], list[str]]
    """The command that runs a command with output below a folder."""
    passes_exit_code: bool = True
    """Whether it ends with the program's own; austin loses it."""

    def run(self, command: Sequence[str], *, cores: int | None) -> Ran:
        """Run ``command`` on so many cores, or on all. Raises :class:`RunFailed`."""
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            wrapped = [*_on(cores), *self.wrap(command, place)]
            with (place / "stdout").open("w+") as out, (place / "stderr").open("w+") as err:
                watch = ProfilerWatch(command)
                code, wall_s, cpu_s = _run(wrapped, out.fileno(), err.fileno(), watch)
            told = (place / "stdout").read_text()
            if code and self.passes_exit_code:
                last = (place / "stderr").read_text().strip().splitlines()[-3:]
                raise RunFailed(f"ended with {code}: {' / '.join(last)}")
        try:
            # austin says how it fared behind the last line of the program.
            printed = last_json(
                "\n".join(line for line in told.splitlines() if line.startswith("{"))
            )
        except (ValueError, IndexError):
            raise RunFailed(f"the program told no rate, and ended with {code}") from None
        besides_s = cpu_s - printed["tree_cpu_s"]
        return Ran(
            printed["sps"], printed["cpu_s_per_step"], wall_s, besides_s, watch.settled_cores
        )


class ProfilerWatch(Thread):
    """Looks from time to time what all processes that were started have used, but for those of the program."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self._command = "\0".join(command).encode()
        self._root = 0
        self._is_over = Event()
        self._used_s: dict[int, float] = {}
        """By process, those that have ended included."""
        self._looks: list[tuple[float, float]] = []
        """(seconds since the start, seconds of CPU) while the program ran."""

    def begin(self, root: int) -> None:
        self._root = root
        self.start()

    def end(self) -> None:
        self._is_over.set()
        self.join()

    @property
    def settled_cores(self) -> float:
        if len(self._looks) < 2:
            return 0.0
        ended = self._looks[-1][0]
        settled_s = SETTLED_S if ended > 1.2 * SETTLED_S else ended / 2
        late = [look for look in self._looks if look[0] >= settled_s]
        (began, before), (ended, after) = late[0], late[-1]
        return (after - before) / (ended - began) if ended > began else 0.0

    def run(self) -> None:
        started = time.perf_counter()
        while not self._is_over.wait(LOOK_S):
            parents = _processes()
            program = next((pid for pid in parents if _command_line(pid) == self._command), None)
            if program is None:
                continue  # It has not begun, or the profiler writes what it has.
            for pid in _below(self._root, parents, without=program):
                self._used_s[pid] = parents[pid].cpu_s
            self._looks.append((time.perf_counter() - started, sum(self._used_s.values())))


class _Process(NamedTuple):
    parent: int
    cpu_s: float


def _processes() -> dict[int, _Process]:
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # It has ended.
            ticks = int(fields[11]) + int(fields[12])
            found[int(folder.name)] = _Process(int(fields[1]), ticks / os.sysconf("SC_CLK_TCK"))
    return found


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0")
    except OSError:
        return b""


def _below(root: int, processes: Mapping[int, _Process], *, without: int) -> set[int]:
    """``root`` and its descendants, but for ``without`` and those of it."""
    found: set[int] = set()
    new = {root} & processes.keys() - {without}
    while new:
        found |= new
        new = {
            pid for pid, process in processes.items() if process.parent in new and pid != without
        }
    return found


def bare() -> Variant:
    return Variant(BARE, lambda command, _: list(command))


def rlprof(name: str, place: Path | None = None, options: Sequence[str] = ()) -> Variant:
    """``rlprof run``, at its defaults but for ``options``: of this checkout, of the one at ``place``, or of the
    executable there.
    """
    if place is None:
        start = [sys.executable, "-m", "rlprof"]
    elif place.is_dir():
        start = [sys.executable, "-c", _CHECKOUT, str(place.resolve())]
    else:
        start = [str(place)]

    def wrap(command: Sequence[str], folder: Path) -> list[str]:
        written = ["--no-report", "-o", str(folder / "run.rlprof")]
        return [*start, "run", *written, *options, "--", *command]

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


def _run(
    command: Sequence[str], out: int, err: int, watch: ProfilerWatch
) -> tuple[int, float, float]:
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
    watch.begin(process.pid)
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        raise
    finally:
        watch.end()
        limit.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, time.perf_counter() - started, usage.ru_utime + usage.ru_stime


def _on(cores: int | None) -> list[str]:
    there = sorted(os.sched_getaffinity(0))
    if cores is None or cores >= len(there):
        return []
    return ["taskset", "-c", ",".join(map(str, there[:cores]))]
