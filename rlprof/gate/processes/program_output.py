"""The end of what a program printed, for the message that says it failed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from rlprof.names import printable

LINES: Final = 12
"""A traceback ends with what matters."""

_BYTES: Final = 16_384
_COLUMNS: Final = 400


def last_lines(log: Path) -> str:
    """Indented, and fit for a terminal."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _BYTES))
            text = file.read().decode("utf-8", "backslashreplace")
    except OSError:
        text = ""
    lines = [line for line in text.splitlines() if line.strip()][-LINES:]
    if not lines:
        return "  | (it printed nothing)"
    return "\n".join(f"  | {printable(line, _COLUMNS)}" for line in lines)
