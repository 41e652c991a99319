"""Blocks that a document is made of. They know nothing of a format, nor how wide it is.

Names in them are made printable by who gives them; what a format takes for its own is escaped by that format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from rlprof.model.recording import Note


class StyledText(NamedTuple):
    """Words with a look of their own."""

    text: str
    style: str
    """``bold``, ``dim`` or a colour, as rich names them; Markdown shows only what is bold."""


class RangeBar(NamedTuple):
    """A bar that is solid up to the low end of a range and shaded up to its high end."""

    low: float
    """Part of the whole bar, 0 to 1; so are the others."""
    high: float
    mark: float | None = None
    """Where a stroke crosses it."""


Inline: TypeAlias = str | StyledText | tuple[str | StyledText | RangeBar, ...]
"""Words on a line. Where a terminal breaks it, Markdown has a space. Bars are a terminal's."""


class ChangeBar(NamedTuple):
    """A bar to the left of the middle for less, to the right for more."""

    part: float
    """Part of the largest change, -1 to 1."""


Cell: TypeAlias = Inline | RangeBar | ChangeBar


@dataclass(frozen=True, kw_only=True)
class Column:
    name: str = ""
    is_figure: bool = False
    """Set to the right."""
    wraps: bool | None = None
    """True if its cells may take several lines; those of figures do not without a word."""
    is_cut: bool = False
    """Lines that are too long lose their end, rather than wrap."""
    least: int = 0
    """Characters that it keeps in a narrow terminal: it holds the names of the rows, and others go before it."""
    goes: int = 0
    """Place among those that go where a terminal is too narrow: the highest first, and the last among equals."""
    under: str = ""
    """Name of the column in whose cells a terminal shows it."""
    lead: str = "\n"
    """Text that stands before it there."""
    style: str = "dim"
    """Its look there."""
    is_drawn: bool = False
    """It holds bars, which only a terminal has."""
    from_width: int = 0
    """Characters of a terminal from which on there is room for it."""


@dataclass(frozen=True)
class Table:
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    is_ruled: bool = True
    """True if a line divides the names of the columns from the rows."""
    is_headed: bool = True
    """True if a terminal shows the names of the columns; Markdown has no table without."""


@dataclass(frozen=True)
class Paragraph:
    lines: Sequence[Inline]
    """Markdown makes one line of them; nothing where there are none."""


class Item(NamedTuple):
    text: Inline
    mark: str = "-"
    """Mark that it hangs behind."""
    style: str = ""
    """Style of the mark."""


@dataclass(frozen=True)
class Items:
    """A list; nothing where it is empty."""

    items: Sequence[Item]
    title: str = ""
    """Above it; no heading."""


@dataclass(frozen=True)
class Remarks:
    """Things to know, by notes; nothing where there are none."""

    title: str
    notes: Sequence[Note]


@dataclass(frozen=True)
class Section:
    title: Inline
    """Bold, if it is not told otherwise."""
    blocks: Sequence[Block]
    indent: int = 0
    """Characters that a terminal sets its blocks in by."""
    is_folded: bool = False
    """True if Markdown shows the title alone, a plain text, until a reader opens it."""


@dataclass(frozen=True)
class TerminalOnly:
    """Block that Markdown leaves out: it is for comments, and has to be short."""

    block: Block


@dataclass(frozen=True)
class Printed:
    """Lines that a program printed: no format takes anything in them for a mark of its own, nor fills them up."""

    lines: Sequence[str]


Block: TypeAlias = Table | Paragraph | Items | Remarks | Section | TerminalOnly | Printed


def figures(*names: str) -> list[Column]:
    return [Column(name=name, is_figure=True) for name in names]


def fact_table(rows: Sequence[Sequence[Cell]], columns: int = 2) -> Table:
    """Facts behind their names."""
    return Table([Column(wraps=number > 0) for number in range(columns)], rows, is_headed=False)


def sides_table(rows: Sequence[Sequence[Cell]]) -> Table:
    """Table of the sides that are compared, each with its rate, and what it is below that."""
    columns = [
        Column(wraps=False),
        Column(name="rate"),
        Column(name="what", under="rate", lead="  ", style=""),
    ]
    return Table(columns, rows, is_headed=False)
