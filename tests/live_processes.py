"""What the tests with real processes share: the result of a run, and ways to wait and look."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rlprof.model.recording import Process, Recording
from rlprof.runfile.reader import read_run

DEADLINE_S = 60
"""For anything awaited: far above what it takes, far below the suite's own time limit."""


@dataclass(frozen=True)
class Result:
    """How one ``rlprof run`` ended."""

    code: int
    out: bytes
    err: str
    run_file: Path

    @property
    def recording(self) -> Recording:
        return read_run(self.run_file)

    @property
    def note_slugs(self) -> set[str]:
        return {note.slug for note in self.recording.notes}

    @property
    def steps(self) -> float:
        return sum(counter.value for counter in self.recording.counters if counter.name == "steps")

    @property
    def root(self) -> Process:
        return self.recording.processes[0]

    def process(self, start_method: str) -> Process:
        """The one process that started in this way."""
        (found,) = [p for p in self.recording.processes if p.start_method == start_method]
        return found

    def started_with(self, argument: str) -> Process:
        """The first one, before its children, whose command line ends in ``argument``."""
        return next(p for p in self.recording.processes if p.argv[-1:] == (argument,))

    def functions(self) -> set[str]:
        """Names of all functions that have time in or below them."""
        return {node.frame.function.rpartition(".")[2] for node in self.recording.nodes}


class Running:
    """An ``rlprof run`` that is under way."""

    def __init__(self, popen: subprocess.Popen[bytes], run_file: Path) -> None:
        self.popen = popen
        self.run_file = run_file

    @property
    def pid(self) -> int:
        return self.popen.pid

    def wait_line(self, text: str) -> str:
        """Read the target's stdout up to the line that contains ``text``, and return that line."""
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            if text in line.decode(errors="replace"):
                return line.decode().strip()
        raise AssertionError(f"the target ended without a line with {text!r}")

    def finish(self) -> Result:
        out, err = self.popen.communicate(timeout=DEADLINE_S)
        code = self.popen.returncode
        # As a shell tells it.
        told = code if code >= 0 else 128 - code
        return Result(told, out, err.decode(errors="replace"), self.run_file)

    def end(self) -> None:
        """Leave nothing behind, whatever has failed."""
        if self.popen.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
        for stream in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if stream is not None:
                stream.close()


def cli(*arguments: str | Path, python: str | Path = sys.executable) -> list[str]:
    return [str(python), "-m", "rlprof", *map(str, arguments)]


def bare(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """All that a program printed without rlprof."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE_S,
        check=True,
    )
    return told(done.stdout, done.stderr.decode())


def told(out: bytes, err: str) -> str:
    """Both outputs, without numbers that are others in every process."""
    return re.sub(r"0x[0-9a-f]+|pid=\d+", "…", out.decode() + err)


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Poll ``condition`` until it holds; the pause only spares the CPU."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {DEADLINE_S} s in vain: {what}")
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def processes_with(mark: str) -> list[int]:
    """Pids of live processes that mention ``mark`` in their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and is_alive(int(folder.name)):
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in command:
                found.append(int(folder.name))
    return found


def children_with(pid: int, mark: str) -> list[int]:
    """Those among :func:`processes_with` that ``pid`` has started itself."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [child for child in processes_with(mark) if str(child) in children]


def children_named(pid: int, name: str) -> list[int]:
    """Pids of the live children of ``pid`` whose program is called ``name``."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [
            int(child)
            for child in children
            if Path(f"/proc/{child}/comm").read_text().strip() == name
        ]
    except OSError:
        return []


def find_python(version: str) -> Path | None:
    """An interpreter of this minor version, from PATH or pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    candidates = sorted(pyenv.glob(f"{version}.*/bin/python"))
    found = shutil.which(f"python{version}")
    if found is not None:
        candidates.append(Path(found))
    for candidate in candidates:
        answer = subprocess.run(
            [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
        if answer.returncode == 0 and answer.stdout.strip() == version:
            return candidate
    return None


class Terminal:
    """A program as the leader of a session on a terminal of its own."""

    def __init__(self, command: list[str], cwd: Path) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(cwd)
                os.execvp(command[0], command)
            finally:
                os._exit(127)
        self.shown = b""

    def type(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def read_until(self, text: bytes) -> None:
        """Wait until the terminal has shown ``text``, counted from the last call."""
        start = len(self.shown)
        deadline = time.monotonic() + DEADLINE_S
        while text not in self.shown[start:]:
            if not self._read(deadline):
                raise AssertionError(f"never shown: {text!r}; shown: {self.shown.decode()}")

    def finish(self) -> int:
        """Read to the end; the exit code, 128+n for a signal."""
        deadline = time.monotonic() + DEADLINE_S
        while self._read(deadline):
            pass
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self.pid = 0
        return code if code >= 0 else 128 - code

    def hang_up(self) -> None:
        """Close the terminal, and wait for the leader's end."""
        os.close(self.fd)
        self.fd = -1
        wait_until(lambda: os.waitpid(self.pid, os.WNOHANG)[0], "the end of the session's leader")
        self.pid = 0

    def close(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        if self.fd >= 0:
            os.close(self.fd)

    def _read(self, deadline: float) -> bool:
        """False at the end of the session's output."""
        ready, _, _ = select.select([self.fd], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise AssertionError(f"the terminal fell silent; shown: {self.shown.decode()}")
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            return False  # EIO: nobody has the terminal open any more.
        self.shown += data
        return bool(data)
