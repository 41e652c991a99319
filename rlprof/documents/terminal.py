"""Blocks as text, for a terminal and for a CI log.

A blank line stands between blocks, and none within a section.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from rlprof.documents import blocks as of
from rlprof.model.recording import Note
from rlprof.names import printable
from rlprof.report import wording

_NOTE_STYLES: Final = {"error": "bold red", "warning": "yellow", "info": "dim"}
_LONGEST_LINE: Final = 1000
"""Characters of a remark, and of what a program printed."""

_UNBROKEN: Final = 20_000
"""Columns that no line reaches: what a block holds of a text is shorter."""

_MOST_DIGITS: Final = 5
"""Most digits of a width: rich fills whole lines with spaces."""

_FIGURE: Final = re.compile(r"(?<=\d) (?=\d{3}\b|%|[mµn]?s\b|sps\b)")
"""A space within a figure, or before its unit, in texts that are not glued."""

_MOST_BAR_CELLS: Final = 24
_CHANGE_CELLS: Final = 8
"""On each side of the middle."""


def as_text(blocks: Iterable[of.Block], *, width: int | None, colored: bool) -> str:
    """``blocks`` on ``width`` columns, without the spaces that rich leaves at the ends of lines.

    None for lines of any length, as in a log, which is searched line by line.
    """
    width = _UNBROKEN if width is None else width
    console = _console(width, colored=colored)
    for block in blocks:
        parts = list(_written(block, width))
        for part in (*parts, Text()) if parts else ():
            console.print(part)
    assert isinstance(console.file, io.StringIO)
    lines = wording.unglued(console.file.getvalue()).split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def is_width(text: str) -> bool:
    """Tell whether ``text`` is a number of columns that a text can be laid out on."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def _console(width: int, *, colored: bool) -> Console:
    """A console that looks at nothing but its arguments: same document, same text."""
    return Console(
        file=io.StringIO(),
        width=width,
        height=25,
        color_system="standard" if colored else None,
        force_terminal=colored,
        no_color=not colored,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )


# --- blocks --------------------------------------------------------------------------------


def _written(block: of.Block, width: int) -> Iterator[RenderableType]:
    match block:
        case of.Table():
            yield _table(block, width)
        case of.Paragraph(lines):
            yield from map(_text, lines)
        case of.Items(items, title):
            yield from [Text(title, style="bold")] if items and title else []
            yield from (_hanging(item.mark, _text(item.text), style=item.style) for item in items)
        case of.Remarks(title, notes) if notes:
            yield Text(title, style="bold")
            yield from map(_remark, notes)
        case of.Section(title, blocks, indent):
            yield _text(of.StyledText(title, "bold") if isinstance(title, str) else title)
            parts = [part for inner in blocks for part in _written(inner, width - indent)]
            yield Padding(Group(*parts), (0, 0, 0, indent))
        case of.TerminalOnly(inner):
            yield from _written(inner, width)
        case of.Printed(lines):
            yield from (Text(printable(line, _LONGEST_LINE), overflow="fold") for line in lines)


def _text(inline: of.Inline) -> Text:
    parts = (inline,) if isinstance(inline, str | of.StyledText) else inline
    return Text.assemble(*map(_part, parts))


def _part(part: str | of.StyledText | of.RangeBar) -> str | of.StyledText | Text:
    if isinstance(part, str):
        return _glued(part)
    if isinstance(part, of.StyledText):
        return part._replace(text=_glued(part.text))
    return _range_bar(*part, size=_MOST_BAR_CELLS)


def _glued(text: str) -> str:
    return _FIGURE.sub(wording.GLUE, text)


def _table(block: of.Table, width: int) -> RichTable:
    ruled = block.is_ruled and block.is_headed
    table = RichTable(
        box=box.SIMPLE_HEAD if ruled else None,
        pad_edge=False,
        show_edge=False,
        show_header=block.is_headed,
        header_style="dim",
    )
    shown = [
        number
        for number, column in enumerate(block.columns)
        if not column.under and width >= column.from_width
    ]
    cells = {
        number: [
            _cell(block.columns[number], row[number], zip(block.columns, row, strict=True))
            for row in block.rows
        ]
        for number in shown
    }
    widths = _narrow_widths(block, cells, width)
    if widths:
        cells = {number: cells[number] for number in widths}
    for number in cells:
        column = block.columns[number]
        is_narrow = bool(widths) and widths[number] < _longest(cells[number])
        no_wrap = _is_unbroken(column) and not is_narrow
        table.add_column(
            # The name of a column of figures may be longer than they are.
            Text(column.name, no_wrap=not widths and no_wrap),
            justify="right" if column.is_figure else "left",
            no_wrap=no_wrap,
            width=widths.get(number),
            min_width=None if widths else column.least or None,
            overflow="ellipsis" if no_wrap else "fold",
        )
    for row in zip(*cells.values(), strict=True):
        table.add_row(*row)
    return table


def _narrow_widths(
    block: of.Table, cells: Mapping[int, Sequence[RenderableType]], width: int
) -> dict[int, int]:
    """Widths by column where ``width`` is too little for all that they hold; empty where it is not."""
    gap = 3 if block.is_ruled and block.is_headed else 2
    needs = [_needs(block, block.columns[number], cells[number]) for number in cells]
    wanted = sum(max(need.longest, need.least) for need in needs)
    if wanted + gap * (len(needs) - 1) <= width:
        return {}
    widths = column_widths(needs, width, gap, whole=not block.is_headed)
    return {number: widths[at] for at, number in enumerate(cells) if at in widths}


def _needs(block: of.Table, column: of.Column, cells: Sequence[RenderableType]) -> ColumnNeeds:
    name = [Text(column.name)] if block.is_headed else []
    return ColumnNeeds(
        longest=_longest([*name, *cells]),
        word=max((_measured(cell).minimum for cell in [*name, *cells]), default=0),
        least=column.least,
        wraps=not _is_unbroken(column),
        goes=column.goes,
    )


def _longest(cells: Iterable[RenderableType]) -> int:
    return max((_measured(cell).maximum for cell in cells), default=0)


def _measured(cell: RenderableType) -> Measurement:
    console = _unbroken_console()
    return Measurement.get(console, console.options, cell)


@cache
def _unbroken_console() -> Console:
    return _console(_UNBROKEN, colored=False)


def _is_unbroken(column: of.Column) -> bool:
    return column.is_figure if column.wraps is None else not column.wraps


def _cell(
    column: of.Column, cell: of.Cell, row: Iterable[tuple[of.Column, of.Cell]]
) -> RenderableType:
    """A cell with what stands under it."""
    if isinstance(cell, of.RangeBar):
        return _DrawnRangeBar(cell)
    if isinstance(cell, of.ChangeBar):
        return _change_bar(cell.part)
    text = _text(cell)
    for other, below in row:
        if other.under and other.under == column.name and below:
            assert isinstance(below, str), "what stands under a cell has one look"
            text.append(f"{other.lead}{below}", style=other.style)
    if column.is_cut:
        text.no_wrap, text.overflow = True, "ellipsis"
    return text


@dataclass(frozen=True)
class _DrawnRangeBar:
    """As long as there is room."""

    bar: of.RangeBar

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, min(_MOST_BAR_CELLS, options.max_width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield _range_bar(*self.bar, size=max(1, min(_MOST_BAR_CELLS, options.max_width)))


def _range_bar(low: float, high: float, mark: float | None, *, size: int) -> Text:
    """A bar of ``size`` cells: solid, shaded and empty, with a stroke at ``mark``."""
    solid = round(low * size)
    reached = max(solid, round(high * size))
    cells = [("█", "green")] * solid + [("▒", "green")] * (reached - solid)
    cells += [("░", "dim")] * (size - reached)
    if mark is not None:
        cells[min(size - 1, int(mark * size))] = ("│", "bold")
    return Text.assemble(*cells)


def _change_bar(part: float) -> Text:
    cells = max(1, round(abs(part) * _CHANGE_CELLS)) if part else 0
    if part < 0:
        return Text.assemble(" " * (_CHANGE_CELLS - cells), ("▇" * cells, "cyan"), "│")
    return Text.assemble(" " * _CHANGE_CELLS, "│", ("▇" * cells, "yellow"))


# --- shapes --------------------------------------------------------------------------------


def _hanging(mark: str, text: Text, *, style: str = "") -> RichTable:
    """``text`` hanging behind ``mark``, so that wrapped lines stay beside it."""
    table = RichTable.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row(Text(mark, style=style), text)
    return table


def _remark(note: Note) -> RichTable:
    """With its name at the end: ``rlprof explain`` has more of it."""
    text = Text.assemble(_glued(printable(note.text, _LONGEST_LINE)), (f" ({note.slug})", "dim"))
    return _hanging(f"{note.level}:", text, style=_NOTE_STYLES.get(note.level, ""))


# --- the columns that there is room for, and how wide each is -----------------------------------

_WORD: Final = 12
"""Characters from which on a word may be broken where a terminal is narrow."""

_EASY: Final = 16
"""Characters of a column of words down to which it gives way before others do: its lines are still easy to read."""


@dataclass(frozen=True)
class ColumnNeeds:
    """Characters that a column takes, and what becomes of it where there are too few."""

    longest: int
    """Its longest line."""
    word: int
    """Its longest word, that of its name too: less breaks one, or a figure."""
    least: int
    """Characters that its names keep; 0 for a column that may go."""
    wraps: bool
    """True if its cells may take several lines."""
    goes: int
    """Its place among those that go: the highest goes first, and the last among equals."""


def column_widths(
    columns: Sequence[ColumnNeeds], width: int, gap: int, *, whole: bool
) -> dict[int, int]:
    """Widths by place, for columns with ``gap`` characters between them that take more than ``width``; those that are
    not in it have no room. None goes of a table that is shown ``whole``.

    Names stay: a column that is less important goes before they are cut. Columns of words are made narrower first, then
    the names of columns and the ranges in them take several lines.
    """
    shown = list(range(len(columns)))
    named = [at for at in shown if columns[at].least] or shown[:1]
    may_go = sorted((at for at in shown if at not in named), key=lambda at: (columns[at].goes, at))

    def room() -> int:
        return width - gap * (len(shown) - 1)

    while may_go and not whole and sum(_narrowest(columns[at]) for at in shown) > room():
        shown.remove(may_go.pop())
    widths = {at: columns[at].longest for at in shown}
    _narrow(widths, room(), lambda at: _easy(columns[at]))
    _narrow(widths, room(), lambda at: _narrowest(columns[at]))
    _narrow(widths, room(), lambda _: 1)
    return widths


def _narrowest(column: ColumnNeeds) -> int:
    return min(column.longest, max(column.least, min(column.word, _WORD)))


def _easy(column: ColumnNeeds) -> int:
    return max(_narrowest(column), min(column.longest, _EASY)) if column.wraps else column.longest


def _narrow(widths: dict[int, int], room: int, least: Callable[[int], int]) -> None:
    """Take from the widest column that has more than its least, until all have room or none has more."""
    while sum(widths.values()) > room:
        wide = [at for at in widths if widths[at] > least(at)]
        if not wide:
            return
        widths[max(wide, key=lambda at: widths[at])] -= 1
