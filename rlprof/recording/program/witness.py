"""Tell signals that were sent to our whole process group from those that were sent to us alone."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from typing import Protocol

from rlprof.recording.machine import procfs
from rlprof.recording.machine.descriptors import close_all_but
from rlprof.recording.machine.prctl import end_with_parent
from rlprof.recording.program.terminal_witness import SI_KERNEL, end_child

FORGETTING_S = 0.2
"""For the witness to take its signals; on a machine that is so crowded that it cannot, the next one of the same
kind may count as the group's."""


class Sender(Enum):
    """The sender of a signal to our group; the value is the witness's answer."""

    PROCESS = b"p"
    KERNEL = b"k"
    """For a terminal: somebody typed Ctrl-C, or has closed it."""


_CLOSED = 128
"""Above the number of any signal: tells, with the place of a stream added, that nobody reads it any more."""


class OutputStream(Protocol):
    """An output of the target that is read by us."""

    fd: int
    ours: int
    is_open: bool

    def close(self) -> None:
        """Read it no more."""

    def leave_behind(self) -> None:
        """Have a process of its own read it."""


class GroupWitness:
    """A process of our group that takes no signal: what is pending there was sent to all.

    A launcher that signals the group of a job (``killpg``, a terminal) has signalled the target, too; one that
    signals us alone (``kill``, ``Popen.terminate``) means the target, and relies on us.

    It also keeps the target's ``streams`` from breaking should we be killed.
    """

    def __init__(self, streams: Sequence[OutputStream] = ()) -> None:
        """Raises OSError where no further process may be started."""
        self._streams = streams
        asked, self._ask = os.pipe()
        self._answer, answered = os.pipe()
        # Before the fork: no signal may find it unprepared.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self.pid = os.fork()
            if self.pid == 0:
                _witness(asked, answered, streams)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(asked)
            os.close(answered)

    def heard(self, signum: int, until_s: float = 0.0) -> Sender | None:
        """Tell who sent ``signum`` to the group, and forget it.

        None where nobody has, and nobody does until ``until_s`` (monotonic clock).
        """
        if not self._is_pending(signum):
            time.sleep(max(0.0, until_s - time.monotonic()))
            if not self._is_pending(signum):
                return None
        return self.forget(signum)

    def forget(self, signum: int) -> Sender:
        """Have the next ``signum`` tell anew."""
        with suppress(OSError, ValueError):
            while select.select([self._answer], [], [], 0)[0]:
                os.read(self._answer, 64)  # It comes too late.
            os.write(self._ask, bytes([signum]))
            if select.select([self._answer], [], [], FORGETTING_S)[0]:
                return Sender(os.read(self._answer, 1))
        return Sender.PROCESS

    def wake_up(self) -> None:
        """Go on, should it have been stopped with the group where we alone were continued."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)
        self.forget(signal.SIGCONT)

    def let_go_of(self, stream: OutputStream) -> None:
        """Have whoever writes to it see that nobody reads it."""
        with suppress(OSError):
            os.write(self._ask, bytes([_CLOSED + self._streams.index(stream)]))

    def close(self) -> None:
        """Close our ends of its pipes, once it has ended."""
        os.close(self._ask)
        os.close(self._answer)

    def end(self) -> None:
        """End it before it can take the end of the pipes for ours."""
        end_child(self.pid)
        self.close()

    def _is_pending(self, signum: int) -> bool:
        return procfs.has_signal(self.pid, signum, b"SigPnd", b"ShdPnd")


def _witness(asked: int, answered: int, streams: Sequence[OutputStream]) -> None:
    """Forget signals on demand, in the child, until the recorder ends; then see to the streams."""
    try:
        if not streams:
            end_with_parent(signal.SIGKILL)
        kept = [fd for stream in streams for fd in (stream.fd, stream.ours)]
        close_all_but(asked, answered, *kept)
        while question := os.read(asked, 1):
            if question[0] >= _CLOSED:
                streams[question[0] - _CLOSED].close()
                continue
            codes = []
            while (found := signal.sigtimedwait(question, 0)) is not None:
                codes.append(found.si_code)  # Real-time signals queue up.
            is_kernel = bool(codes) and all(code == SI_KERNEL for code in codes)
            os.write(answered, (Sender.KERNEL if is_kernel else Sender.PROCESS).value)
        for stream in streams:
            if stream.is_open:
                stream.leave_behind()
    finally:
        os._exit(0)
