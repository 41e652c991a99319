"""Descriptors that are the target's, and those of processes of ours that are not to hold them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def occupy_closed_streams() -> None:
    """Keep descriptors of ours from becoming the target's standard streams, where some were closed before.

    The target finds closed what was closed: these close when it begins.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)


def handed_down() -> frozenset[int]:
    """Those beyond the standard streams that whoever started us has opened for the target.

    To be asked for first of all: Python's own close on exec, those of a library may not.
    """
    try:
        return frozenset(fd for fd in _open_ones() if fd > 2 and os.get_inheritable(fd))
    except OSError:
        return frozenset()  # No descriptor is left for looking.


def let_go_of(descriptors: Iterable[int]) -> None:
    """Put /dev/null in their place: what the target closes is closed then, and its reader or writer hears of it.

    The number stays in use, should a library count on it.
    """
    try:
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return  # No descriptor is left.
    for fd in descriptors:
        with suppress(OSError):
            if not _holds_a_lock(fd):
                os.dup2(nothing, fd, inheritable=fd <= 2)
    os.close(nothing)


def close_all_but(*kept: int) -> None:
    """In a forked child: an end of a pipe that stays open in it would keep the pipe's reader waiting."""
    for fd in _open_ones():
        if fd not in kept:
            with suppress(OSError):
                os.close(fd)


def _open_ones() -> list[int]:
    fds = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208 - numbers are wanted
    # The listing's own is closed by now.
    return [fd for fd in fds if Path(f"/proc/self/fd/{fd}").is_symlink()]


def _holds_a_lock(fd: int) -> bool:
    """Tell whether we hold a record lock (``lockf``) on its file: it belongs to a process, and goes with any
    descriptor of the file. One of ``flock`` stays with the target.
    """
    return " POSIX " in Path(f"/proc/self/fdinfo/{fd}").read_text()
