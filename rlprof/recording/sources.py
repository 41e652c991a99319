"""Keep the text of the files with hot lines, without secrets, so that a report needs no source tree."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rlprof.recording.redaction.literals import hide_literals
from rlprof.syntax.origin import Origin, origin_of_file

MAX_FILE_BYTES = 1_000_000
MAX_TOTAL_BYTES = 8_000_000
MIN_SHARE = 0.01
"""An installed file is kept when this part of all time passes through it; your own always are."""


def read_sources(costs: Iterable[tuple[str, int]], total_us: int) -> dict[str, str]:
    """The files of ``costs`` (file, µs; dearest first) that are worth keeping and can be read."""
    kept: dict[str, str] = {}
    room = MAX_TOTAL_BYTES
    for file, cost_us in costs:
        installed = origin_of_file(file) is not Origin.YOURS
        if installed and cost_us < MIN_SHARE * total_us:
            continue
        text = read_source(file)
        if text is not None and not installed:
            text = hide_literals(text)
        if text is not None and len(text) <= room:
            kept[file] = text
            room -= len(text)
    return kept


def read_source(file: str) -> str | None:
    path = Path(file)
    try:
        if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            return None  # Pseudo-files such as <string>, and generated code too long to show.
        return path.read_text(encoding="utf-8", errors="backslashreplace")
    except (OSError, ValueError):
        return None
