"""The history as a Markdown table, for a README or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rlprof import wording
from rlprof.history import words
from rlprof.history.rows import History, Row
from rlprof.names import printable

_HEADINGS: Final = (
    "when (UTC)", "stage", "command", "sps", "low to high", "gain", "over the first", "top bottleneck",
    "saves", "wall", "",
)  # fmt: skip
_RIGHT: Final = frozenset({"sps", "low to high", "gain", "over the first", "wall"})

_MEANT: Final = re.compile(r"([\\`*_|<>\[\]])")
"""Characters with a meaning of their own in Markdown."""


def history_as_markdown(history: History) -> str:
    rows = [_cells(row) for row in history.rows]
    # The last column holds remarks, and mostly nothing.
    width = len(_HEADINGS) if any(cells[-1] for cells in rows) else len(_HEADINGS) - 1
    rule = ["---:" if name in _RIGHT else "---" for name in _HEADINGS]
    lines = [_line(cells[:width]) for cells in (_HEADINGS, rule, *rows)]
    if history.unread:
        lines += ["", *(f"- not read: {_escaped(unread.reason)}" for unread in history.unread)]
    return wording.unglued("\n".join(lines)) + "\n"


def _cells(row: Row) -> list[str]:
    return [
        f"{row.started:%Y-%m-%d %H:%M}",
        _escaped(words.stage(row)),
        _escaped(words.command(row)),
        words.rate(row),
        words.rate_range(row),
        words.gain(row.over_previous),
        words.gain(row.over_first),
        _escaped(words.bottleneck(row)),
        words.saving(row),
        wording.duration(row.run.wall_us),
        _escaped(words.remarks(row)),
    ]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return _MEANT.sub(r"\\\1", printable(text))
