"""The three standard streams, where some of them were closed before we began."""

from __future__ import annotations

import os


def occupy_closed_streams() -> None:
    """Keep descriptors of ours from becoming the target's streams.

    The target finds closed what was closed: these close when it begins.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
