"""A check as Markdown, for a job's summary or a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rlprof.documents.markdown import prose, table
from rlprof.gate import cause_words, words
from rlprof.gate.outcome import Outcome, Verdict
from rlprof.gate.program import Side
from rlprof.names import printable

_LIMIT: Final = 1000
"""Characters of a line."""

_SIGNS: Final = {
    Verdict.PASS: "✅",
    Verdict.REGRESSION: "❌",
    Verdict.INCONCLUSIVE: "❔",
    Verdict.COULD_NOT_MEASURE: "⚠️",
}


def outcome_as_markdown(outcome: Outcome) -> str:
    return "\n".join(_lines(outcome)) + "\n"


def _lines(outcome: Outcome) -> Iterator[str]:
    yield "### rlprof check"
    yield ""
    yield f"{_SIGNS[outcome.verdict]} **{_escaped(words.verdict(outcome))}**"
    yield ""
    yield table(
        ("", "rate", "what"),
        [
            (side.value, words.sps(outcome, side), _escaped(name))
            for side, name in ((Side.BASE, outcome.base), (Side.HEAD, outcome.head))
        ],
    )
    yield ""
    yield f"Command: {_escaped(words.command(outcome))}"
    yield from _failure(outcome)
    yield from _counters(outcome)
    yield from _causes(outcome)
    yield from _pairs(outcome)
    yield from _remarks(outcome)


def _failure(outcome: Outcome) -> Iterator[str]:
    if outcome.failure is None:
        return
    yield ""
    # Indented: whatever a program printed, nothing of it is markup.
    for line in outcome.failure.message.splitlines():
        yield f"    {printable(line, _LIMIT)}"
    yield ""
    yield _escaped(outcome.failure.hint)


def _counters(outcome: Outcome) -> Iterator[str]:
    rows = words.counter_rows(outcome)
    if rows:
        yield ""
        yield table(
            ("counted", "", "base", "head", ""),
            [
                (
                    *map(_escaped, words.counter_cells(it, outcome)),
                    f"**fails**: {_escaped(it.reason)}" if it.fails else "",
                )
                for it in rows
            ],
            right=(2, 3),
        )


def _causes(outcome: Outcome) -> Iterator[str]:
    for told in cause_words.causes(outcome):
        yield from ("", _escaped(told.heading))
        if told.lines:
            yield ""
        yield from (f"- {_escaped(line)}" for line in told.lines)


def _pairs(outcome: Outcome) -> Iterator[str]:
    headings, rows = words.pair_table(outcome)
    if rows:
        yield from ("", "<details><summary>Runs</summary>", "")
        yield table(headings, rows, right=range(1, len(headings)))
        yield from ("", "</details>")


def _remarks(outcome: Outcome) -> Iterator[str]:
    told = [*words.reasons(outcome), *(f"{note.level}: {note.text}" for note in outcome.notes)]
    if told:
        yield ""
        yield from (f"- {_escaped(line)}" for line in told if line)


def _escaped(text: str) -> str:
    return prose(text, _LIMIT)
