"""The end of ``rlprof run``: that of its training, whatever signal comes meanwhile."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from rlprof.model.crash import STOPPED_BY
from rlprof.recording.program.target import FORWARDED


class CutShortError(BaseException):
    """A signal came while the report was made.

    No KeyboardInterrupt: where one passes through ``exec`` of a text, as dataclasses use it, Python ends by SIGINT whoever
    catches it later.
    """


class Ending:
    """Handles the signals that are passed on to a training, before it has begun and once it has ended.

    Before, they end rlprof. Afterwards they cut its report short at most: a launcher that
    ends its ranks when one says that it is finished must not take a good training for a killed one.
    """

    def __init__(self) -> None:
        self._has_begun = False
        self._can_be_cut_short = False
        self._handled = [
            signum for signum in FORWARDED if signal.getsignal(signum) is signal.SIG_DFL
        ]
        for signum in self._handled:
            signal.signal(signum, self._heed)

    def begin(self) -> None:
        """Note that the training has been started: rlprof's exit code is the training's from here on."""
        self._has_begun = True

    @contextmanager
    def report(self) -> Iterator[None]:
        """Let a signal raise :class:`CutShortError` within."""
        self._can_be_cut_short = True
        try:
            yield
        finally:
            self._can_be_cut_short = False

    def close(self) -> None:
        """Ignore them from here on: Python takes a while to end, and has no handlers by then."""
        for signum in self._handled:
            signal.signal(signum, signal.SIG_IGN)

    def _heed(self, signum: int, _frame: FrameType | None) -> None:
        if not self._has_begun:
            signal.signal(signum, signal.SIG_DFL)
            os.kill(os.getpid(), signum)
        elif self._can_be_cut_short and signum in STOPPED_BY:
            # Others, such as a scheduler's SIGUSR1, were meant for the training.
            raise CutShortError


def die_of(signum: int) -> None:
    """End as the target ended: a shell's loop stops when a command dies of Ctrl-C, and goes on at any code."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    with suppress(OSError, ValueError):
        # One image of memory is enough.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with suppress(OSError, ValueError):
        if signum != signal.SIGKILL:
            signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)
