"""Tell what the kernel is told of the calling process."""

from __future__ import annotations

from typing import Any, Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def _libc() -> Any:
    """None where a libffi in LD_LIBRARY_PATH is none for this Python: the training starts all the same."""
    try:
        import ctypes

        return ctypes.CDLL(None)
    except (ImportError, OSError):
        return None


_LIBC: Final = _libc()
"""Loaded before any fork: between fork and exec a child may not."""


def adopt_orphans(wanted: bool) -> None:
    """Tell whether processes below us whose parent has ended become our children, and so stay in sight."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


def end_with_parent(signum: int) -> None:
    """Get ``signum`` when the thread that has started us is gone, however it ended."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
