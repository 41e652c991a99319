"""The live line on stderr while the target runs."""

from __future__ import annotations

import sys
import time

from rlprof.units import count, duration

REDRAW_S = 1.0
_DIM, _PLAIN, _CLEAR = "\x1b[2m", "\x1b[0m", "\x1b[K"


class LiveLine:
    """One dim line, redrawn in place once a second; silent when stderr is no terminal.

    The cursor stays at its beginning, so that whatever the target prints comes first.
    """

    def __init__(self) -> None:
        self._is_on = sys.stderr.isatty()
        self._drawn_at = time.monotonic()

    def update(self, *, elapsed_us: int, processes: int, samples: int, sps: float | None) -> None:
        now = time.monotonic()
        if not self._is_on or now - self._drawn_at < REDRAW_S:
            return
        self._drawn_at = now
        parts = [
            f"rlprof {duration(elapsed_us)}",
            f"{processes} process{'' if processes == 1 else 'es'}",
            f"{count(samples)} samples",
        ]
        if sps is not None:
            parts.append(f"{count(sps)} sps")
        self._write(f"{_DIM}{' · '.join(parts)}{_PLAIN}{_CLEAR}\r")

    def clear(self) -> None:
        if self._is_on:
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            self._is_on = False
