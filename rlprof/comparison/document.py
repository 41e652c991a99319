"""A comparison in blocks: the verdict, findings, where the time changed, figures, what to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rlprof.comparison import words
from rlprof.comparison.calltree import ChangeTree, CostPerStep, FunctionChange
from rlprof.comparison.compare import Comparison
from rlprof.comparison.findings import Fate, FindingChange
from rlprof.comparison.outline import OutlineRow, outline
from rlprof.documents.blocks import (
    Block,
    Cell,
    ChangeBar,
    Column,
    Inline,
    Item,
    Items,
    Paragraph,
    Remarks,
    Section,
    StyledText,
    Table,
    TerminalOnly,
    figures,
)
from rlprof.names import printable

MOST_ROWS: Final = 14
MOST_FUNCTIONS: Final = 8
MOST_WAITS: Final = 4

_WIDE: Final = 100
"""Characters of a terminal from which on there is room for bars."""
_LEAST_NAME: Final = 12
_DEEPEST: Final = 12

_STYLES: Final = {
    Fate.APPEARED: "yellow",
    Fate.GREW: "yellow",
    Fate.SHRANK: "cyan",
    Fate.VANISHED: "cyan",
}
"""Not red and green: yellow and blue differ for all eyes, and the words say it too."""


def comparison_document(found: Comparison) -> Iterator[Block]:
    verdicts = words.verdict(found), words.findings_verdict(found)
    yield Paragraph([StyledText(verdict, "bold") for verdict in verdicts])
    yield _runs(found)
    yield from _findings(found)
    if found.tree is not None:
        yield _where(found.tree)
        yield from map(TerminalOnly, _functions(found.tree))
    yield Section("Figures of both runs", [_figures(found)])
    yield Remarks("What to know", found.notes)


def _runs(found: Comparison) -> Table:
    columns = [
        Column(wraps=False),
        Column(name="rate"),
        Column(name="command", under="rate", lead="  ", style=""),
        Column(name="run", under="rate"),
    ]
    rows = [
        (StyledText(name, "bold"), words.rate_of(run), words.command_of(run), words.run_of(run))
        for name, run in (("BASE", found.base), ("NEW", found.new))
    ]
    return Table(columns, rows, is_headed=False)


def _findings(found: Comparison) -> Iterator[Block]:
    claimed = [
        _claimed(finding, found) for finding in found.findings if finding.fate in words.CLAIMED
    ]
    names = {fate: words.finding_names(found, fate) for fate in (Fate.UNCHANGED, Fate.UNCLEAR)}
    others = Items(
        [
            Item(", ".join(told), f"{words.FATES[fate]}:", "dim")
            for fate, told in names.items()
            if told
        ]
    )
    if claimed:
        columns = [
            Column(),
            Column(name="finding", least=12),
            Column(name="where", under="finding"),
            Column(name="its fix saves in BASE", is_figure=True, wraps=True),
            Column(name="in NEW", is_figure=True, wraps=True),
        ]
        yield Section("Findings", [Table(columns, claimed, is_ruled=False), others])
    else:
        yield others


def _claimed(change: FindingChange, found: Comparison) -> tuple[Cell, ...]:
    costs = [words.finding_cost(change, cost) for cost in (change.base_cost, change.new_cost)]
    unit = words.finding_unit(change)
    return (
        StyledText(words.FATES[change.fate], _STYLES[change.fate]),
        StyledText(words.finding_name(change), "bold"),
        words.finding_place(change, found),
        *(f"{cost}\n{unit}" if cost != words.NOTHING else cost for cost in costs),
    )


def _changes(
    tree: ChangeTree, title: str, rows: Sequence[tuple[CostPerStep, CostPerStep, Inline]]
) -> Table:
    largest = max(abs(new.us - base.us) for base, new, _ in rows)
    columns = [
        *figures("BASE", "NEW", "change"),
        Column(name="   less │ more   ", is_drawn=True, wraps=False, from_width=_WIDE),
        Column(name=title, is_cut=True, least=_LEAST_NAME),
    ]
    return Table(
        columns,
        [
            (
                words.cost(tree, base.us),
                words.cost(tree, new.us),
                words.change(base.us, new.us),
                ChangeBar((new.us - base.us) / (largest or 1.0)),
                name,
            )
            for base, new, name in rows
        ],
    )


def _where(tree: ChangeTree) -> Section:
    rows = [(row.box.base, row.box.new, _row_name(row)) for row in outline(tree, MOST_ROWS)]
    nowhere = "Nowhere: no function changed by more than the runs themselves vary."
    return Section(
        f"Where {words.metric(tree)} {words.per(tree)} changed by more than noise",
        [_changes(tree, "function, with what it calls", rows) if rows else Paragraph([nowhere])],
    )


def _row_name(row: OutlineRow) -> Inline:
    indent = "  " * min(row.depth, _DEEPEST)
    name = (
        indent,
        StyledText(words.callers(row), "dim"),
        printable(row.box.label, 60),
        StyledText(f"  {words.place(row.box.place)}", "dim"),
    )
    # On a line of its own: what is cut off in a narrow terminal is the end, and that has the line.
    caller = words.called_from(row)
    return (*name, StyledText(f"\n{indent}  {caller}", "dim")) if caller else name


def _functions(tree: ChangeTree) -> Iterator[Section]:
    working, waiting = words.clear_functions(tree, MOST_FUNCTIONS, MOST_WAITS)
    for title, chosen in (
        ("Functions, by their own time", working),
        ("Waits: time that passes, not work", waiting),
    ):
        if chosen:
            rows = [(change.base, change.new, _function_name(change)) for change in chosen]
            yield Section(title, [_changes(tree, "function", rows)])


def _function_name(function: FunctionChange) -> Inline:
    return printable(function.label, 60), StyledText(f"  {words.place(function.place)}", "dim")


def _figures(found: Comparison) -> Table:
    rows = [
        (
            figure.name,
            figure.base,
            figure.new,
            StyledText(figure.change, "bold") if figure.is_clear else figure.change,
        )
        for figure in words.figures(found)
    ]
    return Table([Column(), *figures("BASE", "NEW", "change")], rows)
