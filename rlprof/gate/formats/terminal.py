"""A check for the terminal and for the log of a CI job."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from rlprof.gate import cause_words, words
from rlprof.gate.outcome import Outcome, Verdict
from rlprof.gate.program import Side
from rlprof.names import printable
from rlprof.report import wording

_COLOURS = {
    Verdict.PASS: "32",
    Verdict.REGRESSION: "31",
    Verdict.INCONCLUSIVE: "33",
    Verdict.COULD_NOT_MEASURE: "33",
}
"""Of the verdict, as SGR codes."""

_LEAST_WIDTH: Final = 40

_FIGURE: Final = re.compile(r"(?<=\d) (?=\d{3}\b|%|[mµn]?s\b|sps\b)")
"""A space within a figure, or before its unit."""


def outcome_as_text(outcome: Outcome, *, colored: bool, width: int | None = None) -> str:
    """``width``: columns to wrap at; None for a log, which is searched line by line."""
    verdict, *rest = [words.verdict(outcome), *_lines(outcome)]
    if width is not None:
        verdict = "\n".join(_wrapped(verdict, width))
        rest = [part for line in rest for part in _wrapped(line, width)]
    if colored:
        verdict = f"\x1b[1;{_COLOURS[outcome.verdict]}m{verdict}\x1b[0m"
    return "\n".join((verdict, *rest)) + "\n"


def _lines(outcome: Outcome) -> Iterator[str]:
    yield ""
    for side, name in ((Side.BASE, outcome.base), (Side.HEAD, outcome.head)):
        yield f"  {side.value}  {words.sps(outcome, side)}  {printable(name, 120)}"
    yield f"  run   {words.command(outcome)}"
    yield from _pairs(outcome)
    yield from _counters(outcome)
    yield from _causes(outcome)
    yield from _remarks(outcome)


def _pairs(outcome: Outcome) -> Iterator[str]:
    headings, rows = words.pair_table(outcome)
    if rows:
        yield ""
        yield from _table(headings, rows, left=(0, 3))


def _counters(outcome: Outcome) -> Iterator[str]:
    rows = words.counter_rows(outcome)
    if not rows:
        return
    yield ""
    yield from _table(
        ("counted", "", "base", "head", ""),
        [
            (
                *words.counter_cells(it, outcome),
                f"FAILS: {printable(it.reason, 200)}" if it.fails else "",
            )
            for it in rows
        ],
        left=(0, 1, 4),
    )


def _causes(outcome: Outcome) -> Iterator[str]:
    for told in cause_words.causes(outcome):
        yield from ("", told.heading)
        yield from (f"  {line}" for line in told.lines)
    yield from _pages(outcome)


def _pages(outcome: Outcome) -> Iterator[str]:
    """Where the findings above are explained."""
    told = (*cause_words.worse_findings(outcome), *cause_words.in_head_only(outcome))
    names = dict.fromkeys(it.shown.finding.detector for it in told)
    if names:
        yield f"More: {', '.join(f'rlprof explain {printable(name, 80)}' for name in names)}"


def _remarks(outcome: Outcome) -> Iterator[str]:
    notes = [f"{it.level}: {printable(it.text, 1000)} ({it.slug})" for it in outcome.notes]
    told = [line for line in (*words.reasons(outcome), *notes) if line]
    if told:
        yield ""
        yield from told


def _table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int]
) -> Iterator[str]:
    """Columns to the right, but for ``left``."""
    widths = [max(len(row[at]) for row in (headings, *rows)) for at in range(len(headings))]
    for row in (headings, *rows):
        cells = (
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield f"  {'  '.join(cells)}".rstrip()


def _wrapped(line: str, width: int) -> Iterator[str]:
    """Lines of at most so many columns, but for words that are longer; those that follow are indented."""
    if len(line) <= width:
        yield line
        return
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    glued = _FIGURE.sub(wording.GLUE, line)
    for part in textwrap.wrap(
        glued,
        max(width, _LEAST_WIDTH),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        yield wording.unglued(part)
