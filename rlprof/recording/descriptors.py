"""Descriptors that are the target's, and those of processes of ours that are not to hold them."""

from __future__ import annotations

import os
from contextlib import suppress


def occupy_closed_streams() -> None:
    """Keep descriptors of ours from becoming the target's standard streams, where some were closed before.

    The target finds closed what was closed: these close when it begins.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)


def close_all_but(*kept: int) -> None:
    """In a forked child: an end of a pipe that stays open in it would keep the pipe's reader waiting."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - numbers are wanted
        if int(name) not in kept:
            with suppress(OSError):  # The listing's own is closed by now.
                os.close(int(name))
