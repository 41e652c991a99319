"""A comparison as text: the verdict, findings, where the time changed, figures, what to know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rlprof.comparison import words
from rlprof.comparison.calltree import ChangeTree, Cost, FunctionChange
from rlprof.comparison.compare import Comparison
from rlprof.comparison.findings import Fate, FindingChange
from rlprof.comparison.outline import OutlineRow, outline
from rlprof.documents.terminal import bullet, grid, heading, remark
from rlprof.documents.terminal import printed as as_text
from rlprof.model.recording import Note
from rlprof.model.report import Report
from rlprof.names import printable

MOST_ROWS: Final = 14
MOST_FUNCTIONS: Final = 8
MOST_WAITS: Final = 4

_BAR_CELLS: Final = 8
_WIDE: Final = 100
"""Columns from which on there is room for bars."""
_FIGURES_WIDTH: Final = 32
_BARS_WIDTH: Final = 2 * _BAR_CELLS + 4
"""Columns that figures and bars take; names get what is left."""
_LEAST_ROOM: Final = 12
_DEEPEST: Final = 12

_STYLES: Final = {
    Fate.APPEARED: "yellow",
    Fate.GREW: "yellow",
    Fate.SHRANK: "cyan",
    Fate.VANISHED: "cyan",
}
"""Not red and green: yellow and blue differ for all eyes, and the words say it too."""


def comparison_as_text(found: Comparison, *, width: int, colored: bool) -> str:
    return as_text(_parts(found, width), width=width, colored=colored)


def _parts(found: Comparison, width: int) -> Iterable[RenderableType]:
    yield Text(words.verdict(found), style="bold")
    yield Text(words.findings_verdict(found), style="bold")
    yield Text()
    yield _runs(found)
    yield from _findings(found)
    if found.tree is not None:
        changes = _Changes(found.tree, width)
        yield from _where(changes)
        yield from _functions(changes)
    yield heading("Figures of both runs")
    yield _figures(found)
    yield from _notes(found.notes)


def _runs(found: Comparison) -> Table:
    table = grid(2)
    for name, report in (("BASE", found.base), ("NEW", found.new)):
        table.add_row(Text(name, style="bold"), _run(report))
    return table


def _run(report: Report) -> Text:
    return Text.assemble(
        words.rate_of(report), "  ", words.command_of(report), (f"\n{words.run_of(report)}", "dim")
    )


def _findings(found: Comparison) -> Iterable[RenderableType]:
    claimed = [it for it in found.findings if it.fate in words.CLAIMED]
    if claimed:
        yield heading("Findings")
        yield _claimed_findings(claimed, found)
    if found.findings and not claimed:
        yield Text()
    for fate in (Fate.UNCHANGED, Fate.UNCLEAR):
        others = words.finding_names(found, fate)
        if others:
            yield bullet(f"{words.FATES[fate]}:", Text(", ".join(others)), style="dim")


def _claimed_findings(changes: Sequence[FindingChange], found: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="dim")
    table.add_column("")
    table.add_column("finding", overflow="fold")
    table.add_column("its fix saves in BASE", justify="right")
    table.add_column("in NEW", justify="right")
    for it in changes:
        name = Text(words.finding_name(it), style="bold")
        name.append(f"\n{words.finding_place(it, found)}", style="dim not bold")
        costs = [words.finding_cost(it, cost) for cost in (it.base_cost, it.new_cost)]
        unit = words.finding_unit(it)
        table.add_row(
            Text(words.FATES[it.fate], style=_STYLES[it.fate]),
            name,
            *(f"{cost}\n{unit}" if cost != words.NOTHING else cost for cost in costs),
        )
    return table


class _Changes:
    """Tables of costs in both runs. rich narrows all columns alike, so names are cut here."""

    def __init__(self, tree: ChangeTree, width: int) -> None:
        self.tree = tree
        self._has_bars = width >= _WIDE
        self._room = width - _FIGURES_WIDTH - (_BARS_WIDTH if self._has_bars else 0)

    def table(self, title: str, rows: Sequence[tuple[Cost, Cost, Text]]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
        for figure in ("BASE", "NEW", "change"):
            table.add_column(figure, justify="right", no_wrap=True)
        if self._has_bars:
            table.add_column("less │ more".center(2 * _BAR_CELLS + 1), no_wrap=True)
        table.add_column(title, no_wrap=True)
        largest = max(abs(new.us - base.us) for base, new, _ in rows)
        for base, new, name in rows:
            lines = name.split("\n")
            for line in lines:
                line.truncate(max(_LEAST_ROOM, self._room), overflow="ellipsis")
            table.add_row(
                words.cost(self.tree, base.us),
                words.cost(self.tree, new.us),
                words.change(base.us, new.us),
                *([_bar(new.us - base.us, largest)] if self._has_bars else []),
                Text("\n").join(lines),
            )
        return table


def _where(changes: _Changes) -> Iterable[RenderableType]:
    tree = changes.tree
    rows = outline(tree, MOST_ROWS)
    yield heading(f"Where {words.metric(tree)} {words.per(tree)} changed by more than noise")
    if not rows:
        yield Text("Nowhere: no function changed by more than the runs themselves vary.")
        return
    yield changes.table(
        "function, with what it calls",
        [(row.box.base, row.box.new, _row_name(row)) for row in rows],
    )


def _row_name(row: OutlineRow) -> Text:
    indent = "  " * min(row.depth, _DEEPEST)
    name = Text.assemble(
        indent,
        (words.callers(row), "dim"),
        printable(row.box.label, 60),
        (f"  {words.place(row.box.place)}", "dim"),
    )
    # On a line of its own: what is cut off in a narrow terminal is the end, and that has the line.
    if caller := words.called_from(row):
        name.append(f"\n{indent}  {caller}", style="dim")
    return name


def _functions(changes: _Changes) -> Iterable[RenderableType]:
    clear = [it for it in changes.tree.functions if it.is_clear]
    for title, chosen in (
        (
            "Functions, by their own time",
            [it for it in clear if not it.is_waiting][:MOST_FUNCTIONS],
        ),
        ("Waits: time that passes, not work", [it for it in clear if it.is_waiting][:MOST_WAITS]),
    ):
        if chosen:
            yield heading(title)
            yield changes.table(
                "function", [(it.base, it.new, _function_name(it)) for it in chosen]
            )


def _function_name(function: FunctionChange) -> Text:
    return Text.assemble(printable(function.label, 60), (f"  {words.place(function.place)}", "dim"))


def _bar(change: float, largest: float) -> Text:
    """To the left of the middle for less, to the right for more."""
    cells = max(1, round(abs(change) / largest * _BAR_CELLS)) if change else 0
    if change < 0:
        return Text.assemble(" " * (_BAR_CELLS - cells), ("▇" * cells, "cyan"), "│")
    return Text.assemble(" " * _BAR_CELLS, "│", ("▇" * cells, "yellow"))


def _figures(found: Comparison) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    table.add_column("")
    for title in ("BASE", "NEW", "change"):
        table.add_column(title, justify="right", no_wrap=True)
    for it in found.quantities:
        table.add_row(
            it.name,
            words.quantity(it, it.base),
            words.quantity(it, it.new),
            "" if it.base is None or it.new is None else words.change(it.base, it.new),
        )
    for counter in found.counters:
        table.add_row(
            words.counter_name(counter),
            words.counter(counter, counter.base),
            words.counter(counter, counter.new),
            Text(
                words.change(counter.base or 0.0, counter.new or 0.0),
                style="bold" if counter.is_clear else "",
            ),
        )
    return table


def _notes(notes: Iterable[Note]) -> Iterable[RenderableType]:
    yield heading("What to know")
    for note in notes:
        yield remark(note)
