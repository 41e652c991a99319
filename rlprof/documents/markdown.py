"""Blocks in Markdown as GitHub shows it: nothing in them is taken for a mark of its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from html import escape
from typing import Final

from rlprof.documents import blocks as of
from rlprof.names import printable
from rlprof.report import wording

_MEANT: Final = re.compile(r"([\\`*_~|\[\]$#])")
"""Characters with a meaning of their own in Markdown; those of HTML become entities."""
_LIST_MARK: Final = re.compile(r"^(\d*)([-+.)])(?=\s|$)")
_MENTION: Final = re.compile(r"([@#])(?=\w)")
"""Before a name or a number: somebody would be told, or an issue linked."""

_LIMIT: Final = 1000
"""Characters of a line in a block."""


def as_markdown(blocks: Iterable[of.Block]) -> str:
    return "\n\n".join(part for block in blocks for part in _written(block)) + "\n"


def _written(block: of.Block) -> Iterator[str]:
    match block:
        case of.Table():
            yield _table(block)
        case of.Paragraph(lines) if lines:
            yield " ".join(map(_line, lines))
        case of.Items(items, title) if items:
            yield from [f"{_line(title)}:"] if title else []
            marks = ("" if item.mark == "-" else f"{item.mark} " for item in items)
            yield "\n".join(
                f"- {mark}{_line(item.text)}" for mark, item in zip(marks, items, strict=True)
            )
        case of.Remarks(title, notes) if notes:
            yield f"{title}:"
            yield "\n".join(f"- {note.level}: {prose(note.text, _LIMIT)}" for note in notes)
        case of.Section(str(title), blocks, is_folded=True):
            yield f"<details><summary>{in_html(title)}</summary>"
            yield from (part for inner in blocks for part in _written(inner))
            yield "</details>"
        case of.Section(title, blocks):
            yield f"### {_line(title)}"
            yield from (part for inner in blocks for part in _written(inner))
        case of.Printed(lines):
            # Code, set in: a fence could be closed by what was printed.
            yield "\n".join(f"    {printable(line, _LIMIT)}" for line in lines)


def _table(block: of.Table) -> str:
    """A column without a name stands only where it says something."""
    shown = [
        (at, column)
        for at, column in enumerate(block.columns)
        if not column.is_drawn and (column.name or any(row[at] for row in block.rows))
    ]
    return table(
        [column.name for _, column in shown],
        [[_line(row[at]) for at, _ in shown] for row in block.rows],
        right=[number for number, (_, column) in enumerate(shown) if column.is_figure],
    )


def _line(cell: of.Cell) -> str:
    """Return what is set in stays so."""
    assert not isinstance(cell, of.RangeBar | of.ChangeBar), "a column of bars is drawn"
    spans = (cell,) if isinstance(cell, str | of.StyledText) else cell
    line = "".join(_span(span) for span in spans if not isinstance(span, of.RangeBar))
    indent = len(line) - len(line.lstrip())
    return "&nbsp;" * indent + re.sub(r"\s+", " ", line.strip())


def _span(span: str | of.StyledText) -> str:
    text, style = (span, "") if isinstance(span, str) else span
    words = text.strip()
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    escaped = "\n".join(prose(line, _LIMIT) for line in wording.unglued(words).split("\n"))
    mark = "**" if "bold" in style.split() and words else ""
    return f"{before}{mark}{escaped}{mark}{after if words else ''}"


def prose(text: str, limit: int = 400) -> str:
    """``text`` with nothing in it that Markdown, HTML or GitHub would take for its own."""
    escaped = _MEANT.sub(r"\\\1", escape(printable(text, limit).strip(), quote=False))
    return _quiet(_LIST_MARK.sub(r"\1\\\2", escaped))


def in_html(text: str) -> str:
    """The same within a line of HTML, where Markdown has no say."""
    return _quiet(escape(printable(text), quote=False))


def _quiet(text: str) -> str:
    return _MENTION.sub(r"\1<!-- -->", text)


def unbroken(text: str) -> str:
    """With spaces that narrow columns do not break numbers at."""
    return text.replace(wording.GLUE, "\N{NO-BREAK SPACE}")


def code(text: str) -> str:
    """``text`` as code, in tables and links too."""
    shown = printable(text)
    if "`" in shown or "|" in shown or not shown.strip():
        return f"<code>{prose(shown)}</code>"
    return f"`{shown}`"


def fenced(lines: Sequence[str]) -> str:
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}python", *lines, fence])


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] = ()
) -> str:
    """``right``: columns of figures."""
    rule = ["---:" if column in right else "---" for column in range(len(headings))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows))
