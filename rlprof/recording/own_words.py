"""Keep the training's words out of our own command line: ``pkill -f train.py`` means the training, and would find us as well."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

_START, _END = 48, 49
"""Fields of ``/proc/PID/stat``: addresses of the command line in memory (arg_start, arg_end; man 5 proc)."""
_FIRST_AFTER_NAME: Final = 3


def take_out(words: Sequence[str]) -> None:
    """Blank ``words``, with which our command line ends, in what ``ps`` and ``pgrep -f`` see of this process and of those that it forks.

    A signal to all that a pattern finds reached the training twice: by itself, and passed on by us.
    """
    with suppress(ImportError, OSError, ValueError, IndexError):
        import ctypes

        stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = (int(stat[field - _FIRST_AFTER_NAME]) for field in (_START, _END))
        tail = b"".join(os.fsencode(word) + b"\0" for word in words)
        # Where the kernel hides the addresses, or the words were changed, nothing is written.
        if 0 < len(tail) <= end - start and ctypes.string_at(end - len(tail), len(tail)) == tail:
            ctypes.memset(end - len(tail), 0, len(tail))
