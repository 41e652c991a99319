"""A process with all that it starts: waited for, and ended whole."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rlprof.gate.processes.interruption import shielded
from rlprof.gate.processes.process_group import GRACE_S, kill_until_gone
from rlprof.recording import procfs
from rlprof.recording.prctl import adopt_orphans


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
        others = self._before.union(*(it.tree() for it in self._beside))
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
