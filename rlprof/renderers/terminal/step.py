"""Where the time of a step goes, and how far each part is from what it could do alone."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from rlprof.documents.terminal import figure_table, heading
from rlprof.model.activity import Component
from rlprof.model.report import Report
from rlprof.names import printable
from rlprof.report import wording
from rlprof.report.wording.run import parts_of_a_step


def step_table(report: Report) -> Iterable[RenderableType]:
    """Components of training; the program's own phases stand first."""
    rows = parts_of_a_step(report)
    if not rows:
        return
    yield heading("Where the time goes")
    counted = any(row.per_step_us for row in rows)
    table = figure_table()
    table.add_column("part")
    table.add_column("of the time", justify="right", no_wrap=True)
    if counted:
        table.add_column("CPU per step", justify="right", no_wrap=True)
        table.add_column("alone it would do", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row, counted=counted))
    yield table


def _cells(row: Component, *, counted: bool) -> list[Text]:
    name = f"phase {printable(row.name)}" if row.is_marked else row.name
    cells = [Text(name), Text(wording.percent(row.share))]
    if counted:
        cells.append(Text(wording.duration(row.per_step_us) if row.per_step_us else ""))
        ceiling = row.ceiling_sps
        cells.append(Text(f"{wording.count(float(f'{ceiling:.3g}'))} sps" if ceiling else ""))
    return cells
