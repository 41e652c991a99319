"""Room in a stream: as much as it takes without making who writes to it wait."""

from __future__ import annotations

import select
from typing import Final

PIECE: Final = 512
"""Bytes written at once: ``PIPE_BUF`` of POSIX, for which there is room whenever a pipe or a terminal takes
anything."""


def takes_more(fd: int, within_s: float = 0.0) -> bool:
    """Tell whether ``fd`` has room for a piece, or gets it in time."""
    room = select.poll()
    room.register(fd, select.POLLOUT)
    # Where something is wrong with it, the write says what.
    return bool(room.poll(within_s * 1000))
