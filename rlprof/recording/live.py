"""The live line on stderr while the target runs."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from rlprof.units import count, duration

REDRAW_S = 1.0
_DIM, _PLAIN, _CLEAR = "\x1b[2m", "\x1b[0m", "\x1b[K"
_MAKE_ROOM = "\x1bD\x1b[A"
"""Down, scrolling if need be, and up again: the column stays."""
_TO_ROW_BELOW, _BACK = "\x1b7\x1b[B\r", "\x1b8"


class LiveLine:
    """One dim line, redrawn once a second; silent when stderr is no terminal.

    It stands in the row below the cursor and the cursor does not move: a progress bar of
    the target's is left alone.
    """

    def __init__(self) -> None:
        # None when we were started with stderr closed.
        self._stream = sys.stderr if sys.stderr is not None and _is_terminal(sys.stderr) else None
        self._drawn_at = time.monotonic()
        self._is_drawn = False

    @property
    def is_on(self) -> bool:
        return self._stream is not None

    def update(self, *, elapsed_us: int, processes: int, samples: int, sps: float | None) -> None:
        now = time.monotonic()
        if not self.is_on or now - self._drawn_at < REDRAW_S:
            return
        self._drawn_at = now
        parts = [
            f"rlprof {duration(elapsed_us)}",
            f"{processes} process{'' if processes == 1 else 'es'}",
            f"{count(samples)} samples",
        ]
        if sps is not None:
            parts.append(f"{count(sps)} sps")
        self._is_drawn = True
        line = f"{_DIM}{' · '.join(parts)}{_PLAIN}{_CLEAR}"
        self._write(f"{_MAKE_ROOM}{_TO_ROW_BELOW}{line}{_BACK}")

    def clear(self) -> None:
        if self._is_drawn:
            self._write(f"{_TO_ROW_BELOW}{_CLEAR}{_BACK}")

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # Hung up; closed.
            self._stream = None


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # Closed.
        return False
