"""Shapes that the parts of the terminal report share."""

from __future__ import annotations

from typing import Final

from rich.table import Table
from rich.text import Text

from rlprof.model.finding import Location
from rlprof.model.recording import Note
from rlprof.model.report import Report
from rlprof.names import cut_middle, printable, short_path

_NOTE_STYLES: Final = {"error": "bold red", "warning": "yellow", "info": "dim"}
_LONGEST_REMARK: Final = 1000


def heading(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def grid(columns: int) -> Table:
    table = Table.grid(padding=(0, 2))
    for number in range(columns):
        table.add_column(no_wrap=number == 0, justify="left")
    return table


def bullet(mark: str, text: Text, *, style: str = "") -> Table:
    """``text`` hanging behind ``mark``, so that wrapped lines stay beside it."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row(Text(mark, style=style), text)
    return table


def remark(note: Note) -> Table:
    """With its name at the end: ``rlprof explain`` has more of it."""
    text = Text.assemble(printable(note.text, _LONGEST_REMARK), (f" ({note.slug})", "dim"))
    return bullet(f"{note.level}:", text, style=_NOTE_STYLES.get(note.level, ""))


def place(location: Location, report: Report) -> str:
    path = printable(short_path(location.file, report.run.cwd))
    return f"{cut_middle(path, 60)}:{location.line}"
