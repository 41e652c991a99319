"""A process with all that it starts: waited for, and ended whole."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from rlprof.gate.interruption import shielded
from rlprof.recording import procfs
from rlprof.recording.escort import PR_SET_CHILD_SUBREAPER

GRACE_S: Final = 3.0
"""Between asking a process to end and ending it, so that a training can tidy up."""

_KILL_ROUNDS: Final = 200
"""Rounds of 10 ms in which what is killed must be gone; a process in a system call takes a while."""


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Processes whose parent has ended become our children: so none is lost that a run started."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


class ProcessSession:
    """A command in a session of its own, without a terminal; its output goes to a file.

    One at a time: whatever else begins below us while it runs counts as its own.
    """

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str], folder: Path, log: Path
    ) -> None:
        """Raises ``OSError`` when it cannot be started."""
        self._before = frozenset(procfs.descendants(os.getpid()))
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                list(command),
                env=dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self, timeout_s: float | None) -> int | None:
        """Its exit code; None when it takes longer."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> int:
        """End it and all that it started; how many processes were still there.

        Asked first, then killed. Call it after a good end too: what a run leaves behind would slow
        the next one down.
        """
        with shielded():
            return self._end()

    def _end(self) -> int:
        left = len(self._members())
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)
            self.wait(GRACE_S)
        for _ in range(_KILL_ROUNDS):
            members = self._members()
            if not members:
                break
            for pid in members:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            self._reap(members)
            time.sleep(0.01)
        self._process.poll()
        return left

    def _members(self) -> list[int]:
        """Its processes that live, those it has orphaned included."""
        below = [pid for pid in procfs.descendants(os.getpid()) if pid not in self._before]
        self._reap(below)
        stats = ((pid, procfs.read_stat(pid)) for pid in below)
        return [pid for pid, stat in stats if stat is not None and not stat.has_ended]

    def _reap(self, pids: Sequence[int]) -> None:
        """Take leave of the orphans that have ended; the command itself is Popen's to reap."""
        for pid in pids:
            if pid != self._process.pid:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
