"""A ladder as text: the best count, what bounds it, the rates with their fit, what to know."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Final

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rlprof.documents.terminal import bullet, heading, remark
from rlprof.documents.terminal import printed as as_text
from rlprof.model.profile import Interval
from rlprof.model.recording import Note
from rlprof.names import printable
from rlprof.pace.scaling import Fit
from rlprof.report import wording
from rlprof.scaling.ladder import Rung
from rlprof.scaling.study import Study, named_peak

_MOST_BAR_CELLS: Final = 24
_LEAST_BAR_CELLS: Final = 8
_FIGURES_WIDTH: Final = 69
"""Columns that the figures of a line take; bars get what is left."""


def study_as_text(study: Study, *, width: int, colored: bool) -> str:
    return as_text(_parts(study, width), width=width, colored=colored)


def _parts(study: Study, width: int) -> Iterable[RenderableType]:
    if study.best is not None and study.enough is not None:
        yield _verdict(study.best, study.enough, study.rungs[0])
        yield Text(f"Bounded by {printable(study.bound)}.")
        if study.profile_bound:
            yield Text(f"The profile of that run says: {printable(study.profile_bound)}.")
        yield Text()
        yield _rates(study, min(_MOST_BAR_CELLS, width - _FIGURES_WIDTH))
        yield from _laws(study)
        yield Text()
        run = study.best.runs[-1]
        yield Text(f"Look into the best: rlprof report {printable(run.run_file)}", style="dim")
    yield from _notes(study.notes)


def _verdict(best: Rung, enough: Rung, first: Rung) -> Text:
    rate = f"{wording.rate(best.sps.median)}{wording.GLUE}sps ({wording.rate_range(best.sps)})"
    text = f"{wording.counted(best.workers, 'worker', 'workers')}: {rate}, the highest"
    if enough is not best:
        return Text(
            f"{text}. {wording.counted(enough.workers, 'worker does', 'workers do')} as well within the "
            "spread.",
            style="bold",
        )
    if best is not first:
        text += f", {best.sps.median / first.sps.median:.3g} times that of {first.workers}"
    text += "."
    return Text(text, style="bold")


def _rates(study: Study, bar_cells: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    for heading_ in ("workers", "sps", "low to high", "times", "efficiency", "fit"):
        table.add_column(heading_, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    first = study.rungs[0]
    full = max(_reach(rung, study.fit) for rung in study.rungs)
    for rung in study.rungs:
        times = rung.sps.median / first.sps.median
        efficiency = times * first.workers / rung.workers
        fitted = study.fit.law.sps(rung.workers) if study.fit else None
        table.add_row(
            str(rung.workers),
            Text(wording.rate(rung.sps.median), style="bold" if rung is study.best else ""),
            wording.rate_range(rung.sps),
            f"{times:.2f}",
            wording.percent(efficiency),
            "" if fitted is None else wording.rate(fitted),
            _bar(rung.sps, fitted, full, bar_cells) if bar_cells >= _LEAST_BAR_CELLS else "",
        )
    return table


def _reach(rung: Rung, fit: Fit | None) -> float:
    return max(rung.sps.high, fit.law.sps(rung.workers) if fit else 0.0)


def _bar(sps: Interval, fitted: float | None, full: float, size: int) -> Text:
    """Solid up to the low end, shaded up to the high one, a stroke where the fit lies."""
    low = round(sps.low / full * size)
    high = max(low, round(sps.high / full * size))
    cells = [("█", "green")] * low + [("▒", "green")] * (high - low)
    cells += [("░", "dim")] * (size - high)
    if fitted is not None:
        cells[min(size - 1, int(fitted / full * size))] = ("│", "bold")
    return Text.assemble(*cells)


def _laws(study: Study) -> Iterable[RenderableType]:
    """The parameters of both laws, and what they say of more workers."""
    if study.fit is None:
        return
    yield heading("The fit")
    if study.usl is not None:
        law = study.usl.law
        yield bullet(
            "Universal Scalability Law:",
            Text(
                f"{wording.rate(law.per_worker_sps)}{wording.GLUE}sps for one worker, contention "
                f"{_parameter(study.usl.contention)}, coherency {_parameter(study.usl.coherency)}, "
                f"{wording.percent(study.usl.error)} off. {named_peak(study)}".rstrip()
            ),
        )
    if study.amdahl is not None:
        ceiling = study.amdahl.law.ceiling_sps
        most = (
            f"at most {wording.rate(ceiling)}{wording.GLUE}sps" if isfinite(ceiling) else "no limit"
        )
        yield bullet(
            "Amdahl:",
            Text(
                f"serial part {_parameter(study.amdahl.contention)}: {most} with any number of "
                f"workers, {wording.percent(study.amdahl.error)} off."
            ),
        )


def _parameter(value: Interval) -> str:
    ends = f"{value.low:.2g} to {value.high:.2g}"
    return f"{value.median:.2g}" + (f" ({ends})" if value.low < value.high else "")


def _notes(notes: Iterable[Note]) -> Iterable[RenderableType]:
    shown = tuple(notes)
    if shown:
        yield heading("What to know about this ladder")
    for note in shown:
        yield remark(note)
