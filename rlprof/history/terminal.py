"""The history as a table for a terminal: two lines for each run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rlprof.history import words
from rlprof.history.rows import History, Row, Unread
from rlprof.names import printable
from rlprof.renderers.terminal import as_text
from rlprof.renderers.terminal.shapes import bullet, heading
from rlprof.report import wording

_STAGE_WIDTH: Final = 12
"""Columns at least, however narrow the terminal."""


def history_as_text(history: History, *, width: int, colored: bool) -> str:
    return as_text(_parts(history), width=width, colored=colored)


def _parts(history: History) -> Iterable[RenderableType]:
    if history.rows:
        yield _table(history.rows)
        if len(history.rows) > 1:
            yield Text(f"\n{words.LEGEND}", style="dim")
    if history.unread:
        yield heading("Not read")
        yield from (_unread(unread) for unread in history.unread)


def _table(rows: Iterable[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    table.add_column("when (UTC)", no_wrap=True)
    table.add_column("stage", min_width=_STAGE_WIDTH, overflow="fold")
    table.add_column("sps", justify="right", no_wrap=True)
    table.add_column("gain", justify="right", no_wrap=True)
    table.add_column("top bottleneck", overflow="fold")
    for row in rows:
        table.add_row(
            _two_lines(f"{row.started:%Y-%m-%d}", f"{row.started:%H:%M}, {_wall(row)}"),
            _stage(row),
            _two_lines(words.rate(row), words.rate_range(row)),
            _two_lines(words.gain(row.over_previous), words.gain(row.over_first)),
            _two_lines(words.bottleneck(row), f"saves {words.saving(row)}" if row.top else ""),
        )
    return table


def _wall(row: Row) -> str:
    return wording.duration(row.run.wall_us)


def _stage(row: Row) -> Text:
    text = _two_lines(words.stage(row), words.command(row))
    if row.remarks:
        text.append(f"\n{words.remarks(row)}", style="yellow")
    return text


def _two_lines(first: str, second: str) -> Text:
    return Text.assemble(first, (f"\n{second}" if second else "", "dim"))


def _unread(unread: Unread) -> Table:
    return bullet("-", Text(printable(unread.reason, 300)), style="yellow")
