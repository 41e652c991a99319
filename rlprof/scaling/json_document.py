"""A ladder as JSON: its keys, in order, and their values. ``scale.schema.json`` is made from these.

Within a version keys are only added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Struct

from rlprof.documents.json import (
    Interval,
    Note,
    Number,
    document_as_text,
    filled,
    means,
)
from rlprof.pace import scaling
from rlprof.scaling import ladder
from rlprof.scaling.study import Study


class Run(Struct, frozen=True):
    workers: int
    round: Annotated[int, means("Counted from 1.")]
    run_file: str
    exit_code: Annotated[int | None, means("Of the training; 128+n for signal n.")]
    sps: Interval | None
    why_no_sps: Annotated[str | None, means("Null where there is a rate.")]
    processes: Annotated[int, means("Python processes seen in it.")]
    cpu_share: Annotated[Number, means("Part of the usable cores' time that it had.")]
    taken_share: Annotated[Number, means("Part that others had while it queued.")]
    bounded_by: Annotated[
        str | None,
        means("What held up the steady steps, by its profile; null when it cannot tell."),
    ]


class Rung(Struct, frozen=True):
    workers: int
    sps: Interval
    speed_up: Annotated[Number, means("Rate over that of the fewest workers.")]
    efficiency: Annotated[
        Number, means("The speed-up over what as many more workers would bring at best.")
    ]
    fitted_sps: Annotated[Number, means("By the law; null without one.")]


class Fit(Struct, frozen=True):
    per_worker_sps: Number
    contention: Interval
    coherency: Interval
    peak_workers: Number
    ceiling_sps: Annotated[Number, means("Null when infinite.")]
    relative_error: Annotated[
        Number, means("Typical distance of the points from the curve (root mean square).")
    ]


class Fits(Struct, frozen=True):
    amdahl: Annotated[Fit | None, means("Null with fewer than two numbers of workers.")]
    usl: Annotated[Fit | None, means("Null with fewer than three.")]


class Best(Struct, frozen=True):
    workers: int
    as_fast_within_spread: Annotated[int, means("The fewest workers that do as well.")]
    bounded_by: Annotated[str, means("What bounds the rate there.")]
    profile_bounded_by: Annotated[
        str | None, means("The same by the profile of its last run; null when it cannot tell.")
    ]


class ScaleDocument(Struct, frozen=True):
    """Document of `rlprof scale -o FILE.json`. Shares run from 0 to 1. Within a version keys are only ever added: ignore those you do not know. A value that could not be measured is null."""

    format: Literal["rlprof-scale"]
    version: Literal[1]
    """1: the first."""
    rlprof: str
    command: Annotated[
        Sequence[str], means("The program as given, with {} for the number of workers.")
    ]
    usable_cores: Annotated[Number, means("Affinity and control-group limits counted.")]
    runs: Annotated[Sequence[Run], means("In the order in which they ran.")]
    rungs: Annotated[Sequence[Rung], means("By number of workers, good runs only.")]
    fits: Fits
    best: Annotated[Best | None, means("Null where no run had a rate.")]
    notes: Sequence[Note]


def study_as_json(study: Study) -> str:
    return document_as_text(
        ScaleDocument,
        study,
        runs=[_run(run) for run in study.runs],
        rungs=[_rung(rung, study) for rung in study.rungs],
        fits=Fits(_fit(study.amdahl), _fit(study.usl)),
        best=_best(study),
    )


def _run(run: ladder.LadderRun) -> Run:
    return filled(
        Run,
        run,
        why_no_sps=run.why_no_sps or None,
        bounded_by=run.bound or None,
    )


def _rung(rung: ladder.Rung, study: Study) -> Rung:
    first = study.rungs[0]
    speed_up = rung.sps.median / first.sps.median
    return filled(
        Rung,
        rung,
        speed_up=speed_up,
        efficiency=speed_up * first.workers / rung.workers,
        fitted_sps=None if study.fit is None else study.fit.law.sps(rung.workers),
    )


def _fit(fit: scaling.Fit | None) -> Fit | None:
    if fit is None:
        return None
    return filled(
        Fit,
        fit,
        per_worker_sps=fit.law.per_worker_sps,
        peak_workers=fit.law.peak,
        ceiling_sps=fit.law.ceiling_sps,
        relative_error=fit.error,
    )


def _best(study: Study) -> Best | None:
    if study.best is None or study.enough is None:
        return None
    return Best(study.best.workers, study.enough.workers, study.bound, study.profile_bound or None)
