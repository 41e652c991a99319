"""A process with all that it starts: waited for, and ended whole; one of rlprof's own; and the end of what was printed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

import rlprof
from rlprof.errors import MeasureError, exit_code_of_signal
from rlprof.gate.interruption import shielded
from rlprof.names import printable
from rlprof.recording.machine import procfs
from rlprof.recording.machine.prctl import adopt_orphans, end_with_parent
from rlprof.recording.redaction.literals import hide_words


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Processes whose parent has ended become our children: so none is lost that a run started."""
    adopt_orphans(True)
    try:
        yield
    finally:
        adopt_orphans(False)


class ProcessSession:
    """A command in a session of its own, without a terminal; its output goes to a file.

    It runs from the beginning of a ``with`` and has ended, with all that it started, at its end. Whatever
    else begins below us meanwhile counts as its own, but for the sessions ``beside`` which it runs: those that
    begin before it and end after it. With ``adopts`` off only what is below it does: the rest is theirs.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        log: Path,
        beside: Sequence[ProcessSession] = (),
        adopts: bool = True,
    ) -> None:
        self._command = list(command)
        self._environment = dict(environment)
        self._folder = folder
        self._log = log
        self._beside = tuple(beside)
        self._adopts = adopts
        self._before: frozenset[int] = frozenset()
        self._process: subprocess.Popen[bytes] | None = None
        self.left_behind = 0
        """Processes that were still there at its end; known after it."""

    def __enter__(self) -> ProcessSession:
        """Raises ``OSError`` when it cannot be started."""
        try:
            # Told to stop between fork and here, nobody would know of a process to end.
            with shielded():
                self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    @property
    def pid(self) -> int:
        assert self._process is not None, "a session runs inside its with"
        return self._process.pid

    def tree(self) -> tuple[int, ...]:
        """Its process and all below it; what it has orphaned is not in it."""
        return (self.pid, *procfs.descendants(self.pid))

    def wait(self, timeout_s: float | None) -> int | None:
        """Its exit code; None when it takes longer."""
        assert self._process is not None, "a session runs inside its with"
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def _start(self) -> None:
        self._before = frozenset(procfs.descendants(os.getpid()))
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _end(self) -> None:
        """Ask it to end, then kill what is left; after a good end too, since what a run leaves behind would
        slow the next one down.
        """
        process = self._process
        if process is None:
            return
        with shielded():
            self.left_behind = len(self._members())
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)
                self.wait(GRACE_S)
            kill_until_gone(self._members)
            process.poll()

    def _members(self) -> list[int]:
        """Its processes that live, those it has orphaned included if it adopts."""
        if not self._adopts:
            return procfs.living(self.tree())
        others = self._before.union(*(session.tree() for session in self._beside))
        below = [pid for pid in procfs.descendants(os.getpid()) if pid not in others]
        self._reap(below)
        return procfs.living(below)

    def _reap(self, pids: Sequence[int]) -> None:
        """Take leave of the orphans that have ended; the command itself is Popen's to reap."""
        own = None if self._process is None else self._process.pid
        for pid in pids:
            if pid != own:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


# --- ending processes ----------------------------------------------------------------------

GRACE_S: Final = 3.0
"""Between asking a process to end and ending it, so that a training can tidy up."""

_LOOK_S: Final = 0.02
"""Between two looks at who is left."""

_KILL_ROUNDS: Final = 200
"""Rounds of 10 ms, in which what is killed must be gone: a process in a system call takes a while, and what it has
started meanwhile must go too."""


def kill_until_gone(living: Callable[[], Sequence[int]]) -> None:
    """Kill those whose numbers ``living`` tells, again and again until it tells none."""
    for _ in range(_KILL_ROUNDS):
        alive = living()
        if not alive:
            return
        for pid in alive:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def end_group(group: int) -> None:
    """End all processes of ``group``; those that have time to will have removed their lock files.

    What has left the group, as a daemon does, lives on.
    """
    with shielded():
        for signum in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(group, signum)
            if _has_ended(group):
                return


def _has_ended(group: int) -> bool:
    """Tell whether it has within the time of grace."""
    deadline = time.monotonic() + GRACE_S
    while procfs.living(procfs.group_members(group)):
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_S)
    return True


# --- what a program printed ----------------------------------------------------------------

LINES: Final = 12
"""A traceback ends with what matters."""

_BYTES: Final = 16_384
_COLUMNS: Final = 400


def last_lines(log: Path) -> str:
    """Indented, fit for a terminal, and without secrets: errors go to files of a CI that many can read."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _BYTES))
            text = file.read().decode("utf-8", "backslashreplace")
    except OSError:
        text = ""
    lines = [line for line in text.splitlines() if line.strip()][-LINES:]
    if not lines:
        return "  | (it printed nothing)"
    return "\n".join(f"  | {printable(hide_words(line), _COLUMNS)}" for line in lines)


# --- a process of rlprof's own, which does one thing for its parent and ends with it ----------

_LOOK_FOR_PARENT_S: Final = 0.5
"""Between two looks whether it is there: rare enough to take no time from what is measured."""

_BOOT: Final = """
import importlib, sys
root, module = sys.argv.pop(1), sys.argv.pop(1)
sys.path[:] = [path for path in sys.path if path]
if root not in sys.path:
    sys.path.insert(0, root)
importlib.import_module(module).main()
"""
"""``python -m`` would look for modules in the working directory first, where other people's code lies."""


def command_to_run(module: str, argument: Path) -> tuple[str, ...]:
    """Return what starts ``module.main()`` with ``argument`` and our pid as its arguments."""
    root = str(Path(rlprof.__file__).resolve().parent.parent)
    return (sys.executable, "-c", _BOOT, root, module, str(argument), str(os.getpid()))


_Message = TypeVar("_Message")


def write_message(file: Path, message: object) -> None:
    """Write a dataclass as JSON, for nobody else to read: it may hold an environment, and so secrets."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        # The library's own JSON has no place for names and values that are not UTF-8.
        json.dump(msgspec.to_builtins(message, enc_hook=os.fspath), stream)


def read_request(file: Path, kind: type[_Message]) -> _Message:
    """Return what :func:`write_message` wrote; raises ``OSError`` and ``ValueError`` for a file that is none of ``kind``."""
    # The only type in a message that the library does not know is a path.
    return msgspec.convert(
        json.loads(file.read_text(encoding="utf-8")), kind, dec_hook=lambda _type, text: Path(text)
    )


def read_answer(file: Path, kind: type[_Message]) -> _Message | None:
    """The same; None when the process ended before it could answer."""
    try:
        return read_request(file, kind)
    except (OSError, ValueError):
        return None


def ended_without_a_word(what: str, log: Path) -> MeasureError:
    """The error of a process for ``what`` that gave no answer."""
    return MeasureError(
        f"{what} ended without a word\n{last_lines(log)}",
        slug="recording-lost",
        hint="was it killed, or is the machine out of memory? Otherwise please report it",
    )


def end_with(parent: int) -> None:
    """End with ``parent``: when that is killed, a training must not train on unseen."""
    end_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(exit_code_of_signal(signal.SIGTERM))


@contextmanager
def ending_all_without(parent: int) -> Iterator[None]:
    """Within: once ``parent`` is gone, what is below us has ``GRACE_S`` to end, and then is killed, and we end too.

    For what does not care for the SIGTERM that :func:`end_with` brings about.
    """
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    try:
        yield
    finally:
        if os.getppid() != parent:
            # A program that ended in time may have left processes behind.
            _kill_all_below()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_FOR_PARENT_S)
    time.sleep(GRACE_S)
    _kill_all_below()
    # Nobody waits for our answer, and whoever waits for the program in here may wait for ever.
    os._exit(exit_code_of_signal(signal.SIGTERM))


def _kill_all_below() -> None:
    kill_until_gone(lambda: procfs.living(procfs.descendants(os.getpid())))
