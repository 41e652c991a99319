"""The place of one attempt: a folder, random numbers, and the processes that it has started."""

from __future__ import annotations

import os
import re
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "programs"

LONGEST_S = 60.0
"""For one wait that is not itself the question. A row that takes longer passes its own."""

MARK = "ATTACK_MARK"
"""The variable by which everything that an attempt has started is found again, daemons included."""

HEARD = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
"""Ignored in the background jobs of shells and under nohup: what is started here hears them."""


REFERENCE = re.compile(r"^\s*(more:|https?:|This is a bug|Please)")
"""Lines that tell where to read on."""

ANOTHER_USER = 65534
"""Called nobody."""


class Failed(Exception):
    """The attack has found something."""


class NotTried(Exception):
    """Something is missing for this attack on this machine."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a command."""

    code: int
    """128+n for signal n, as a shell says it."""
    out: bytes
    err: bytes
    took_s: float

    @property
    def complaint(self) -> str:
        """The last line of stderr that says something, to be quoted."""
        lines = self.err.decode(errors="replace").splitlines()
        told = [line.strip() for line in lines if line.strip() and not REFERENCE.match(line)]
        return (told or ["(nothing)"])[-1][:200]


class Arena:
    """``work`` is where targets run, ``tmp`` is their TMPDIR; run files and everything else lie beside."""

    def __init__(self, folder: Path, random: Random, patience: float = 1.0) -> None:
        self.folder = folder.resolve()
        self.random = random
        self.patience = patience
        self.work = self.folder / "work"
        self.tmp = self.folder / "tmp"
        self.run_file = self.folder / "run.rlprof"
        for made in (self.work, self.tmp):
            made.mkdir(parents=True)
        self._mark = secrets.token_hex(8)
        self._mounts: list[Path] = []
        self._opened: list[subprocess.Popen[bytes]] = []
        self._shared_before = _shared_memory()

    # Starting and waiting

    def environment(self, **extra: str) -> dict[str, str]:
        """Ours, less what is meant for a tests' own process, and less what forbids to keep compiled
        modules, which nobody sets who waits for rlprof.
        """
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("RLPROF_", "PYTEST_", "COV_"))
            and name != "PYTHONDONTWRITEBYTECODE"
        }
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {
            **kept,
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
            "PYTHONHASHSEED": "0",
            "TMPDIR": str(self.tmp),
            MARK: self._mark,
            **extra,
        }

    def rlprof(self, *words: str | Path, python: str | Path = sys.executable) -> list[str]:
        return [str(python), "-m", "rlprof", *map(str, words)]

    def recorded(self, *target: str | Path, options: Sequence[str | Path] = ()) -> list[str]:
        """``rlprof run`` without its report, into ``run_file``."""
        return self.rlprof("run", "--no-report", "--force", "-o", self.run_file, *options, *target)

    def start(
        self,
        command: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int | None = subprocess.DEVNULL,
        limits: Mapping[int, int] | None = None,
        user: int | None = None,
        output: int | None = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """Start ``command`` in ``work``; as ``user`` with no other rights where that is given."""

        def prepare() -> None:
            for signum in HEARD:
                signal.signal(signum, signal.SIG_DFL)
            for limit, value in (limits or {}).items():
                resource.setrlimit(limit, (value, value))

        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=cwd or self.work,
            env=dict(env) if env is not None else self.environment(),
            stdin=stdin,
            stdout=output,
            stderr=output,
            preexec_fn=prepare,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
        self._opened.append(process)
        return process

    def finish(
        self,
        process: subprocess.Popen[bytes],
        within_s: float = LONGEST_S,
        doing: str = "it",
        stdin: bytes | None = None,
    ) -> Ended:
        """Wait for the end, at most ``within_s`` times the patience."""
        begun = time.monotonic()
        try:
            out, err = process.communicate(stdin, timeout=within_s * self.patience)
        except subprocess.TimeoutExpired:
            raise Failed(f"{doing} still ran after {within_s * self.patience:.0f} s") from None
        code = process.returncode
        return Ended(
            code if code >= 0 else 128 - code, out or b"", err or b"", time.monotonic() - begun
        )

    def run(
        self,
        command: Sequence[str | Path],
        within_s: float = LONGEST_S,
        *,
        input_bytes: bytes | None = None,
        doing: str = "",
        **keywords: object,
    ) -> Ended:
        if input_bytes is not None:
            keywords["stdin"] = subprocess.PIPE
        process = self.start(command, **keywords)  # type: ignore[arg-type]
        return self.finish(process, within_s, doing or Path(str(command[0])).name, input_bytes)

    def wait_for(self, what: str, condition: Callable[[], object], within_s: float = 30.0) -> None:
        """Poll until ``condition`` holds; the pause only spares the CPU."""
        deadline = time.monotonic() + within_s * self.patience
        while not condition():
            if time.monotonic() > deadline:
                raise Failed(f"waited {within_s * self.patience:.0f} s in vain: {what}")
            time.sleep(0.01)

    # What is there

    def members(self) -> list[int]:
        """Pids of all live processes of this attempt, zombies left out."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and entry.name != str(os.getpid()) and self._is_ours(entry):
                found.append(int(entry.name))
        return found

    def _is_ours(self, process: Path) -> bool:
        try:
            if f"{MARK}={self._mark}".encode() in (process / "environ").read_bytes():
                return is_alive(int(process.name))
            # Those that have emptied their environment.
            is_inside = (process / "cwd").readlink().is_relative_to(self.folder)
            return is_inside and is_alive(int(process.name))
        except OSError:
            return False

    def leftovers(self) -> list[str]:
        """Whatever is there that was not before: processes, and files in TMPDIR and ``/dev/shm``."""
        processes = [f"process {pid} ({command_of(pid)})" for pid in self.members()]
        files = sorted(f"TMPDIR/{path.name}" for path in self.tmp.iterdir())
        shared = sorted(_shared_memory() - self._shared_before)
        return processes + files + shared

    def expect_nothing_left(self, within_s: float = 5.0) -> None:
        deadline = time.monotonic() + within_s * self.patience
        while left := self.leftovers():
            if time.monotonic() > deadline:
                raise Failed(f"left behind: {', '.join(left)[:300]}")
            time.sleep(0.02)

    # The end

    def mount_small(self, folder: Path, kib: int) -> None:
        """A file system of its own and of this size on ``folder``, where root may have one."""
        folder.mkdir(exist_ok=True)
        self._mount(folder, "-t", "tmpfs", "-o", f"size={kib}k", "rlprof-attack", folder)

    def mount_read_only(self, folder: Path) -> None:
        """Root, too, cannot write there."""
        self._mount(folder, "--bind", folder, folder)
        self._mount(folder, "-o", "remount,ro,bind", folder)

    def _mount(self, folder: Path, *words: str | Path) -> None:
        answer = subprocess.run(["mount", *words], capture_output=True, check=False)
        if answer.returncode != 0:
            raise NotTried("a file system cannot be mounted (not root?)")
        self._mounts.append(folder)

    def clear(self) -> None:
        """End every process of this attempt by its pid, and remove what it has made."""
        deadline = time.monotonic() + 10
        while (members := self.members()) and time.monotonic() < deadline:
            for pid in members:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        for process in self._opened:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
        for folder in self._mounts:
            subprocess.run(["umount", "-l", folder], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def _shared_memory() -> set[str]:
    """Our files there, by their names: other programs come and go."""
    return {str(path) for path in Path("/dev/shm").iterdir() if "rlprof" in path.name}


def is_alive(pid: int) -> bool:
    """Zombies are not."""
    return state_of(pid) not in ("", "Z", "X")


def state_of(pid: int) -> str:
    """The letter of ``/proc/PID/stat``; empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def command_of(pid: int) -> str:
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )[:80].strip()
    except OSError:
        return "?"


def children_of(pid: int, name: str | None = None) -> list[int]:
    """Live children; those whose program is called ``name`` when that is given."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    children = [int(child) for child in listed if is_alive(int(child))]
    return [child for child in children if name is None or program_of(child) == name]


def program_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def is_root() -> bool:
    return os.geteuid() == 0


def needs_root() -> None:
    if not is_root():
        raise NotTried("needs root, to be another user")


def needs_program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NotTried(f"no {name} on this machine")
    return found
