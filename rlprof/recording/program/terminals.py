"""The terminal that a target shares with us, and whose it is."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def our_terminal() -> int | None:
    """A descriptor of the terminal, if we are in its foreground."""
    for stream in (sys.__stdin__, sys.__stderr__, sys.__stdout__):
        try:
            if stream is not None and is_in_foreground(stream.fileno()):
                return stream.fileno()
        except ValueError:
            continue
    return None


def is_terminal(descriptor: int) -> bool:
    """Tell whether it is one still: after a hang-up it answers nothing."""
    try:
        os.tcgetpgrp(descriptor)
    except OSError:
        return False
    return True


def is_in_foreground(terminal: int) -> bool:
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False


def give_terminal(terminal: int, group: int) -> None:
    """Make ``group`` the foreground group; a background caller must ignore SIGTTOU for that."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        os.tcsetpgrp(terminal, group)
    except OSError:
        pass  # The terminal is gone (hang-up); nobody is left to give it to.
    finally:
        signal.signal(signal.SIGTTOU, before)


@contextmanager
def unstopped() -> Iterator[None]:
    """Have what this thread writes to a terminal go through from the background, too, where `stty tostop` would stop our group for it.

    Blocked for the write alone, and not ignored: nobody who is started inherits it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
