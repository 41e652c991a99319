"""How the run went: phases, rates, resources, processes, and what was not seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rlprof.documents.terminal import figure_table, grid, heading, remark
from rlprof.model.recording import Note
from rlprof.model.report import ProcessRow, Report
from rlprof.names import printable
from rlprof.report import wording
from rlprof.report.wording.run import run_facts, spread, wait_lines


def how_the_run_went(report: Report) -> Iterable[RenderableType]:
    yield heading("The run")
    table = grid(2)
    for name, text in run_facts(report):
        table.add_row(name, text)
    yield table
    if report.processes:
        yield Text()
        yield _processes(report.processes)
    yield from _waits(report)


def _waits(report: Report) -> Iterable[RenderableType]:
    lines = wait_lines(report)
    if not lines:
        return
    yield heading("Who waits for whom")
    table = grid(3)
    for who, what, whom in lines:
        table.add_row(Text(who), Text(what), Text(whom, style="dim"))
    yield table


def _processes(rows: Sequence[ProcessRow]) -> Table:
    """One line for each kind of process: what is alike is folded, with the range of its times."""
    alike: dict[tuple[str, str, bool, str], list[ProcessRow]] = {}
    for row in rows:
        alike.setdefault((row.role, row.python, row.sampled, row.note), []).append(row)
    table = figure_table()
    table.add_column("process")
    for name in ("wall s", "start-up s", "CPU s", "samples/s"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", style="dim")
    for (role, _, sampled, note), group in alike.items():
        rate = spread([row.achieved_hz for row in group], "{:.0f}") if sampled else "not sampled"
        table.add_row(
            Text(wording.named(role, [row.pid for row in group])),
            spread([row.wall_s for row in group], "{:.1f}"),
            spread([row.start_up_s for row in group], "{:.1f}"),
            spread([row.cpu_s for row in group], "{:.1f}"),
            Text(rate, style="" if sampled else "yellow"),
            Text(printable(note)),
        )
    return table


def notes(notes: Sequence[Note]) -> Iterable[RenderableType]:
    if not notes:
        return
    yield heading("What to know about this recording")
    for note in wording.gravest_first(notes):
        yield remark(note)
