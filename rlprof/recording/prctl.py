"""What the kernel is told of the calling process."""

from __future__ import annotations

import ctypes
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36

_LIBC: Final = ctypes.CDLL(None)
"""Loaded before any fork: between fork and exec a child may not."""


def adopt_orphans(wanted: bool) -> None:
    """Whether processes below us whose parent has ended become our children, and so stay in sight."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


def end_with_parent(signum: int) -> None:
    """Get ``signum`` when the thread that has started us is gone, however it ended."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
