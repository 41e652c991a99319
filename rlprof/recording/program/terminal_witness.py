"""Tell what a terminal has sent to the target, where the target leads a process group without us."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from contextlib import suppress
from typing import Final

from rlprof.recording.machine.descriptors import close_all_but
from rlprof.recording.machine.prctl import end_with_parent

SI_KERNEL: Final = 0x80
"""Constant of ``sigaction(2)``, which the module ``signal`` does not have: a terminal's Ctrl-C, and no process's ``kill``."""


class TerminalWitness:
    """A process in the target's group that takes no signal, and tells of those that a terminal has sent to the group.

    Ctrl-C goes to the foreground alone, where we are not: without it, a program that ends with 0 or 1 after Ctrl-C looks as one that has
    ended by itself.
    """

    def __init__(self, group: int, signals: Collection[int]) -> None:
        """Raises OSError where no further process may be started."""
        self.fd, told = os.pipe()
        os.set_blocking(self.fd, False)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self.pid = os.fork()
            if self.pid == 0:
                _witness(group, signals, told)
        except OSError:
            os.close(self.fd)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(told)

    def told(self) -> int | None:
        """The signal that has come since the last call; None for none. Once the witness has ended none does."""
        with suppress(BlockingIOError):
            return next(reversed(os.read(self.fd, 64)), None)
        return None

    def close(self) -> None:
        """Close our end of the pipe, once it has ended."""
        os.close(self.fd)

    def end(self) -> None:
        end_child(self.pid)
        self.close()


def end_child(pid: int) -> None:
    """End a child of ours, and take leave of it."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _witness(group: int, signals: Collection[int], told: int) -> None:
    try:
        end_with_parent(signal.SIGKILL)
        close_all_but(told)
        os.setpgid(0, group)
        while True:
            found = signal.sigwaitinfo(signals)
            if found.si_code == SI_KERNEL:
                os.write(told, bytes([found.si_signo]))
    finally:
        os._exit(0)
