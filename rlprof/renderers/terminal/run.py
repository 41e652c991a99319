"""How the run went: where a step's time goes, phases, rates, resources, processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rlprof.documents.blocks import Block, Cell, Column, Section, Span, Table, fact_table, figures
from rlprof.model.activity import Component
from rlprof.model.report import ProcessRow, Report
from rlprof.names import printable
from rlprof.report import wording
from rlprof.report.wording.run import parts_of_a_step, run_facts, spread, wait_lines


def where_the_time_goes(report: Report) -> Iterator[Section]:
    """Components of training, the program's own phases first, and how far each is from what it could do alone."""
    rows = parts_of_a_step(report)
    if not rows:
        return
    counted = any(row.per_step_us for row in rows)
    names = ("of the time", *(("CPU per step", "alone it would do") if counted else ()))
    cells = [_cells(row)[: 1 + len(names)] for row in rows]
    yield Section("Where the time goes", [Table([Column(name="part"), *figures(*names)], cells)])


def _cells(row: Component) -> list[Cell]:
    ceiling = row.ceiling_sps
    return [
        f"phase {printable(row.name)}" if row.is_marked else row.name,
        wording.percent(row.share),
        wording.duration(row.per_step_us) if row.per_step_us else "",
        f"{wording.count(float(f'{ceiling:.3g}'))} sps" if ceiling else "",
    ]


def how_the_run_went(report: Report) -> Iterator[Block]:
    yield Section("The run", [fact_table(list(run_facts(report)))])
    if report.processes:
        yield _processes(report.processes)
    if lines := wait_lines(report):
        waits = [(who, what, Span(whom, "dim")) for who, what, whom in lines]
        yield Section("Who waits for whom", [fact_table(waits, columns=3)])


def _processes(rows: Sequence[ProcessRow]) -> Table:
    """One line for each kind of process: what is alike is folded, with the range of its times."""
    alike: dict[tuple[str, str, bool, str], list[ProcessRow]] = {}
    for row in rows:
        alike.setdefault((row.role, row.python, row.sampled, row.note), []).append(row)
    cells = [
        (
            wording.named(role, [row.pid for row in group]),
            spread([row.wall_s for row in group], "{:.1f}"),
            spread([row.start_up_s for row in group], "{:.1f}"),
            spread([row.cpu_s for row in group], "{:.1f}"),
            spread([row.achieved_hz for row in group], "{:.0f}")
            if sampled
            else Span("not sampled", "yellow"),
            Span(printable(note), "dim"),
        )
        for (role, _, sampled, note), group in alike.items()
    ]
    names = figures("wall s", "start-up s", "CPU s", "samples/s")
    return Table([Column(name="process"), *names, Column()], cells)
