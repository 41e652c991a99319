"""A check for the terminal and for the log of a CI job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rlprof.gate import words
from rlprof.gate.outcome import Outcome, Verdict
from rlprof.gate.program import Side
from rlprof.names import printable

_COLOURS = {
    Verdict.PASS: "32",
    Verdict.REGRESSION: "31",
    Verdict.INCONCLUSIVE: "33",
    Verdict.COULD_NOT_MEASURE: "33",
}
"""Of the verdict, as SGR codes."""


def outcome_as_text(outcome: Outcome, *, colored: bool) -> str:
    return "\n".join(_lines(outcome, colored=colored)) + "\n"


def _lines(outcome: Outcome, *, colored: bool) -> Iterator[str]:
    verdict = words.verdict(outcome)
    yield f"\x1b[1;{_COLOURS[outcome.verdict]}m{verdict}\x1b[0m" if colored else verdict
    yield ""
    for side, name in ((Side.BASE, outcome.base), (Side.HEAD, outcome.head)):
        yield f"  {side.value}  {words.sps(outcome, side)}  {printable(name, 120)}"
    yield f"  run   {words.command(outcome)}"
    yield from _pairs(outcome)
    yield from _counters(outcome)
    yield from _causes(outcome)
    yield from _remarks(outcome)


def _pairs(outcome: Outcome) -> Iterator[str]:
    rows = outcome.pairs()
    if not rows or all(base is None and head is None for _, base, head in rows):
        return
    yield ""
    yield from _table(
        ("pair", "base", "head", "change"),
        [
            (str(number), words.rate(base), words.rate(head), words.change(base, head))
            for number, base, head in rows
        ],
    )


def _counters(outcome: Outcome) -> Iterator[str]:
    rows = words.counter_rows(outcome)
    if not rows:
        return
    yield ""
    yield from _table(
        ("per step", "base", "head", ""),
        [
            (
                printable(it.name, 40),
                words.counter_value(it.base),
                words.counter_value(it.head),
                f"FAILS: {printable(it.reason, 200)}" if it.fails else "",
            )
            for it in rows
        ],
    )


def _causes(outcome: Outcome) -> Iterator[str]:
    told = words.causes(outcome)
    if told:
        yield from ("", told)
        yield from (f"  {words.finding(it, outcome)}" for it in words.worse_findings(outcome))


def _remarks(outcome: Outcome) -> Iterator[str]:
    notes = [f"{note.level}: {printable(note.text, 1000)}" for note in outcome.notes]
    told = [line for line in (*words.reasons(outcome), *notes) if line]
    if told:
        yield ""
        yield from told


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first and the last column to the left, figures to the right."""
    widths = [max(len(row[at]) for row in (headings, *rows)) for at in range(len(headings))]
    last = len(headings) - 1
    for row in (headings, *rows):
        cells = (
            cell.ljust(width) if at in (0, last) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield f"  {'  '.join(cells)}".rstrip()
