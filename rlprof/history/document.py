"""The history in blocks: a table of the runs, and what was not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rlprof.documents.blocks import Block, Cell, Column, Detail, Item, Items, Paragraph, Span, Table
from rlprof.history import words
from rlprof.history.rows import History, Row
from rlprof.names import printable
from rlprof.report import wording

_COLUMNS: Final = (
    Column(name="when (UTC)", wraps=False),
    Column(name="stage", least=12),
    Column(name="command", under="stage"),
    Column(name="sps", is_figure=True),
    Column(name="low to high", is_figure=True, under="sps"),
    Column(name="gain", is_figure=True),
    Column(name="over the first", is_figure=True, under="gain"),
    Column(name="top bottleneck"),
    Column(name="saves", under="top bottleneck", lead="\nsaves "),
    Column(name="wall", is_figure=True, under="when (UTC)", lead=", "),
    Column(under="stage", style="yellow"),
)


def history_document(history: History) -> Iterator[Block]:
    if history.rows:
        yield Table(_COLUMNS, [_cells(row) for row in history.rows])
    if len(history.rows) > 1:
        yield Detail(Paragraph([Span(words.LEGEND, "dim")]))
    yield Items([Item(printable(it.reason, 300), "not read:", "yellow") for it in history.unread])


def _cells(row: Row) -> list[Cell]:
    return [
        (f"{row.started:%Y-%m-%d}", Span(f"\n{row.started:%H:%M}", "dim")),
        words.stage(row),
        words.command(row),
        words.rate(row),
        words.rate_range(row),
        words.gain(row.over_previous),
        words.gain(row.over_first),
        words.bottleneck(row),
        words.saving(row),
        wording.duration(row.run.wall_us),
        words.remarks(row),
    ]
