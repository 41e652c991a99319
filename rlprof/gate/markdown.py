"""A check as Markdown, for a job's summary or a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rlprof.gate import words
from rlprof.gate.outcome import Outcome, Verdict
from rlprof.gate.program import Side
from rlprof.names import printable
from rlprof.wording.markdown import prose, table

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
            ("counted per step", "base", "head", ""),
            [
                (
                    _escaped(it.name),
                    words.counter_value(it.base),
                    words.counter_value(it.head),
                    f"**fails**: {_escaped(it.reason)}" if it.fails else "",
                )
                for it in rows
            ],
            right=(1, 2),
        )


def _causes(outcome: Outcome) -> Iterator[str]:
    told = words.causes(outcome)
    if told:
        yield from ("", told, "")
        yield from (
            f"- {_escaped(words.finding(it, outcome))}" for it in words.worse_findings(outcome)
        )


def _pairs(outcome: Outcome) -> Iterator[str]:
    rows = [row for row in outcome.pairs() if row[1] is not None or row[2] is not None]
    if rows:
        yield from ("", "<details><summary>Runs</summary>", "")
        yield table(
            ("pair", "base", "head", "change"),
            [
                (str(number), words.rate(base), words.rate(head), words.change(base, head))
                for number, base, head in rows
            ],
            right=(1, 2, 3),
        )
        yield from ("", "</details>")


def _remarks(outcome: Outcome) -> Iterator[str]:
    told = [*words.reasons(outcome), *(f"{note.level}: {note.text}" for note in outcome.notes)]
    if told:
        yield ""
        yield from (f"- {_escaped(line)}" for line in told if line)


def _escaped(text: str) -> str:
    return prose(text, _LIMIT)
