"""The table of experiments, for a terminal and for Markdown."""

from __future__ import annotations

from rlprof.documents.blocks import Column, Table
from rlprof.model.report import Report
from rlprof.report.wording.experiments import TriedRow, tried_rows


def tried_table(report: Report) -> Table:
    columns = [
        Column(name="tried", least=16),
        Column(name="kind", wraps=False),
        Column(name="predicted", is_figure=True),
        Column(name="measured", is_figure=True),
        Column(name="pairs", is_figure=True, goes=1),
        Column(name="took", is_figure=True, goes=2),
        Column(name="treatment", under="tried"),
        Column(name="note", under="tried"),
    ]
    return Table(columns, [_cells(row) for row in tried_rows(report)])


def _cells(row: TriedRow) -> tuple[str, ...]:
    measured = "\n".join(part for part in (row.measured, row.interval) if part)
    return row.tried, row.kind, row.predicted, measured, row.pairs, row.seconds, row.how, row.note
