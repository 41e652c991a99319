"""Keep what was ignored ignored in the target, and let faults that others send end nobody but the target."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from typing import Final

from rlprof.recording.machine import procfs

IGNORED_BY_PYTHON: Final = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these in itself, and so forgets what it was given."""

FAULTS: Final = frozenset(
    {
        signal.SIGSEGV,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGSYS,
        signal.SIGTRAP,
    }
)
"""A handler in Python would return to the instruction that is at fault, for ever."""


def hold_back_faults() -> set[int]:
    """Let faults that others send wait; Linux ends us by those of our own all the same.

    Returns the signals that were blocked before.
    """
    return {int(signum) for signum in signal.pthread_sigmask(signal.SIG_BLOCK, FAULTS)}


def forget_faults(blocked_before: Iterable[int]) -> None:
    """Drop those that came, and block again what was blocked before."""
    while signal.sigtimedwait(FAULTS, 0) is not None:
        pass
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked_before)


def ignored_before_python() -> frozenset[int]:
    """Those of ``IGNORED_BY_PYTHON`` that we were started with: what a shell ignores it hands down.

    Read from our parent, as our own state is gone. Python resets them in what it starts, so a parent that
    is Python itself says nothing.
    """
    parent = os.getppid()
    if procfs.is_python(parent):
        return frozenset()
    return frozenset(
        signum for signum in IGNORED_BY_PYTHON if procfs.has_signal(parent, signum, b"SigIgn")
    )


def forget_handlers(signums: Iterable[int]) -> None:
    """Put ``signums`` that have a handler at their defaults, as the start of a program will: one that comes before
    that would be lost in the handler.
    """
    for signum in signums:
        if signal.getsignal(signum) not in (signal.SIG_DFL, signal.SIG_IGN):
            signal.signal(signum, signal.SIG_DFL)


def hand_down(ignored: frozenset[int]) -> None:
    """Ignore ``ignored`` signals, and none that Python alone ignores, in what is about to become the target."""
    for forgotten in IGNORED_BY_PYTHON:
        signal.signal(forgotten, signal.SIG_DFL)
    for signum in ignored:
        signal.signal(signum, signal.SIG_IGN)
