"""A check in blocks: the verdict, both sides, counters, causes, runs, what to know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rlprof.comparison.html import Occasion, comparison_as_html
from rlprof.documents.blocks import (
    Block,
    Cell,
    Column,
    Item,
    Items,
    Paragraph,
    Printed,
    Remarks,
    Section,
    StyledText,
    Table,
    TerminalOnly,
    figures,
    sides_table,
)
from rlprof.documents.markdown import as_markdown
from rlprof.gate import causes, words
from rlprof.gate.decision import Verdict
from rlprof.gate.outcome import Outcome
from rlprof.gate.program import Side
from rlprof.names import printable

_LOOKS: Final = {
    Verdict.PASS: "bold green",
    Verdict.REGRESSION: "bold red",
    Verdict.INCONCLUSIVE: "bold yellow",
    Verdict.COULD_NOT_MEASURE: "bold yellow",
}
_SIGNS: Final = {
    Verdict.PASS: "✅",
    Verdict.REGRESSION: "❌",
    Verdict.INCONCLUSIVE: "❔",
    Verdict.COULD_NOT_MEASURE: "⚠️",
}

_PAGE: Final = "One pair, recorded to look for causes; the check judged others"


def outcome_as_markdown(outcome: Outcome) -> str:
    """For a job's summary or a pull request, where nothing else tells a failure."""
    blocks = check_document(outcome, tells_failure=True)
    return f"### {_SIGNS[outcome.verdict]} rlprof check\n\n{as_markdown(blocks)}"


def outcome_as_page(outcome: Outcome) -> str:
    """The pair that was recorded in full as one HTML page, below the verdict: what it says of the rate is no second one."""
    assert outcome.comparison is not None, "a page is asked for where a pair was compared"
    worse = words.found_regressions(outcome)
    lines = tuple(line for told in worse for line in told.lines or (told.heading,))
    return comparison_as_html(outcome.comparison, Occasion(_PAGE, words.verdict(outcome), lines))


def check_document(outcome: Outcome, *, tells_failure: bool = False) -> Iterator[Block]:
    """``tells_failure``: with all that the program printed; on a terminal that is the error of the command."""
    yield Paragraph([StyledText(words.verdict(outcome), _LOOKS[outcome.verdict])])
    yield _sides(outcome)
    yield Paragraph([f"Command: {words.command(outcome)}"])
    if tells_failure and outcome.failure is not None:
        yield Printed(outcome.failure.message.splitlines())
        yield Paragraph([printable(outcome.failure.hint)])
    yield from _counters(outcome)
    yield from _causes(outcome)
    yield from _runs(outcome)
    yield Paragraph(words.reasons(outcome))
    yield Remarks("What to know", outcome.notes)


def _sides(outcome: Outcome) -> Table:
    return sides_table(
        [
            (side.value, words.sps(outcome, side), printable(name))
            for side, name in ((Side.BASE, outcome.base), (Side.HEAD, outcome.head))
        ]
    )


def _counters(outcome: Outcome) -> Iterator[Table]:
    rows: list[tuple[Cell, ...]] = [
        (
            *words.counter_cells(counter, outcome),
            (StyledText("FAILS", "bold"), f": {printable(counter.reason)}")
            if counter.fails
            else "",
        )
        for counter in words.counter_rows(outcome)
    ]
    if rows:
        names = Column(name="counted", wraps=False), Column(wraps=False)
        yield Table([*names, *figures("base", "head"), Column()], rows, is_ruled=False)


def _causes(outcome: Outcome) -> Iterator[Block]:
    for told in words.causes(outcome):
        if told.lines:
            yield Items([Item(line) for line in told.lines], told.heading.removesuffix(":"))
        else:
            yield Paragraph([told.heading])
    worse = (*causes.worse_findings(outcome), *causes.in_head_only(outcome))
    names = dict.fromkeys(change.shown.finding.detector for change in worse)
    if names:
        pages = ", ".join(f"rlprof explain {printable(name, 80)}" for name in names)
        yield TerminalOnly(Paragraph([f"More: {pages}"]))


def _runs(outcome: Outcome) -> Iterator[Section]:
    """Those of which any rate counts. Of a baseline there are none to show."""
    pairs = [] if outcome.counters_only else outcome.pairs()
    rated = [(at, base, head) for at, base, head in pairs if base is not None or head is not None]
    if not rated:
        return
    rows: list[tuple[str, ...]]
    if any(run.side is Side.BASE for run in outcome.runs):
        columns = [Column(name="pair"), *figures("base", "head", "change")]
        rows = [
            (str(at), words.rate(base), words.rate(head), words.change(base, head))
            for at, base, head in rated
        ]
    else:
        columns = [Column(name="run"), *figures("head")]
        rows = [(str(at), words.rate(head)) for at, _, head in rated]
    yield Section("Runs", [Table(columns, rows)], is_folded=True)
