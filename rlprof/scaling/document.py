"""A ladder in blocks: the best count, what bounds it, the rates with their fit, what to know."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Final

from rlprof.documents.blocks import (
    Block,
    Column,
    Item,
    Items,
    Paragraph,
    RangeBar,
    Remarks,
    Section,
    StyledText,
    Table,
    figures,
)
from rlprof.model.profile import Interval
from rlprof.names import printable
from rlprof.report import wording
from rlprof.scaling.ladder import Rung
from rlprof.scaling.study import Study, named_peak

_WIDE: Final = 77
"""Characters of a terminal from which on there is room for bars beside the figures."""


def study_document(study: Study) -> Iterator[Block]:
    if study.best is not None and study.enough is not None:
        verdict = StyledText(_verdict(study.best, study.enough, study.rungs[0]), "bold")
        says = f"The profile of that run says: {printable(study.profile_bound)}."
        bound = f"Bounded by {printable(study.bound)}."
        yield Paragraph([verdict, bound, *([says] if study.profile_bound else [])])
        yield _rates(study)
        if study.fit is not None:
            yield Section("The fit", [Items(list(_laws(study)))])
        run = study.best.runs[-1]
        best = f"Look into the best: rlprof report {printable(run.run_file)}"
        yield Paragraph([StyledText(best, "dim")])
    yield Remarks("What to know about this ladder", study.notes)


def _verdict(best: Rung, enough: Rung, first: Rung) -> str:
    rate = f"{wording.rate(best.sps.median)}{wording.GLUE}sps ({wording.rate_range(best.sps)})"
    text = f"{wording.counted(best.workers, 'worker', 'workers')}: {rate}, the highest"
    if enough is not best:
        others = wording.counted(enough.workers, "worker does", "workers do")
        return f"{text}. {others} as well within the spread."
    if best is not first:
        text += f", {best.sps.median / first.sps.median:.3g} times that of {first.workers}"
    return f"{text}."


def _rates(study: Study) -> Table:
    first = study.rungs[0]
    laws = [study.fit.law.sps(rung.workers) if study.fit else None for rung in study.rungs]
    full = max(
        max(rung.sps.high, fitted or 0.0) for rung, fitted in zip(study.rungs, laws, strict=True)
    )
    rows = []
    for rung, fitted in zip(study.rungs, laws, strict=True):
        times = rung.sps.median / first.sps.median
        rate = wording.rate(rung.sps.median)
        rows.append(
            (
                str(rung.workers),
                StyledText(rate, "bold") if rung is study.best else rate,
                wording.rate_range(rung.sps),
                f"{times:.2f}",
                wording.percent(times * first.workers / rung.workers),
                "" if fitted is None else wording.rate(fitted),
                RangeBar(
                    rung.sps.low / full,
                    rung.sps.high / full,
                    None if fitted is None else fitted / full,
                ),
            )
        )
    names = ("workers", "sps", "low to high", "times", "efficiency", "fit")
    return Table([*figures(*names), Column(is_drawn=True, from_width=_WIDE)], rows)


def _laws(study: Study) -> Iterator[Item]:
    """The parameters of both laws, and what they say of more workers."""
    if study.usl is not None:
        law = study.usl.law
        yield Item(
            f"{wording.rate(law.per_worker_sps)}{wording.GLUE}sps for one worker, contention "
            f"{_parameter(study.usl.contention)}, coherency {_parameter(study.usl.coherency)}, "
            f"{wording.percent(study.usl.error)} off. {named_peak(law.peak, study.rungs[-1].workers)}".rstrip(),
            "Universal Scalability Law:",
        )
    if study.amdahl is not None:
        ceiling = study.amdahl.law.ceiling_sps
        most = (
            f"at most {wording.rate(ceiling)}{wording.GLUE}sps" if isfinite(ceiling) else "no limit"
        )
        yield Item(
            f"serial part {_parameter(study.amdahl.contention)}: {most} with any number of "
            f"workers, {wording.percent(study.amdahl.error)} off.",
            "Amdahl:",
        )


def _parameter(value: Interval) -> str:
    ends = f"{value.low:.2g} to {value.high:.2g}"
    return f"{value.median:.2g}" + (f" ({ends})" if value.low < value.high else "")
