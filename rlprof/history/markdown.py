"""The history as a Markdown table, for a README or a pull request."""

from __future__ import annotations

from typing import Final

from rlprof.history import words
from rlprof.history.rows import History, Row
from rlprof.report import wording
from rlprof.report.wording.markdown import prose, table

_HEADINGS: Final = (
    "when (UTC)", "stage", "command", "sps", "low to high", "gain", "over the first", "top bottleneck",
    "saves", "wall", "",
)  # fmt: skip
_RIGHT: Final = frozenset({"sps", "low to high", "gain", "over the first", "wall"})


def history_as_markdown(history: History) -> str:
    rows = [_cells(row) for row in history.rows]
    # The last column holds remarks, and mostly nothing.
    width = len(_HEADINGS) if any(cells[-1] for cells in rows) else len(_HEADINGS) - 1
    right = [number for number, name in enumerate(_HEADINGS) if name in _RIGHT]
    lines = [table(_HEADINGS[:width], [cells[:width] for cells in rows], right=right)]
    if history.unread:
        lines += ["", *(f"- not read: {prose(unread.reason)}" for unread in history.unread)]
    return wording.unglued("\n".join(lines)) + "\n"


def _cells(row: Row) -> list[str]:
    return [
        f"{row.started:%Y-%m-%d %H:%M}",
        prose(words.stage(row)),
        prose(words.command(row)),
        words.rate(row),
        words.rate_range(row),
        words.gain(row.over_previous),
        words.gain(row.over_first),
        prose(words.bottleneck(row)),
        words.saving(row),
        wording.duration(row.run.wall_us),
        prose(words.remarks(row)),
    ]
