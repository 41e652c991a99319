"""A ladder as JSON. ``docs/scale.md`` describes the keys; within a version they are only added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from rlprof.pace import scaling
from rlprof.renderers.json_report.values import (
    Document,
    Interval,
    Note,
    Number,
    as_json_text,
    filled,
    notes_of,
)
from rlprof.scaling import ladder
from rlprof.scaling.study import Study


class Run(Struct, frozen=True):
    workers: int
    round: int
    run_file: str
    exit_code: int | None
    sps: Interval | None
    why_no_sps: str | None
    processes: int
    cpu_share: Number
    taken_share: Number
    bounded_by: str | None


class Rung(Struct, frozen=True):
    workers: int
    sps: Interval
    speed_up: Number
    efficiency: Number
    fitted_sps: Number


class Fit(Struct, frozen=True):
    per_worker_sps: Number
    contention: Interval
    coherency: Interval
    peak_workers: Number
    ceiling_sps: Number
    relative_error: Number


class Fits(Struct, frozen=True):
    amdahl: Fit | None
    usl: Fit | None


class Best(Struct, frozen=True):
    workers: int
    as_fast_within_spread: int
    bounded_by: str
    profile_bounded_by: str | None


class ScaleDocument(Document, frozen=True, kw_only=True):
    format: Literal["rlprof-scale"] = "rlprof-scale"
    command: Sequence[str]
    usable_cores: Number
    runs: Sequence[Run]
    rungs: Sequence[Rung]
    fits: Fits
    best: Best | None
    notes: Sequence[Note]


def study_as_json(study: Study) -> str:
    return as_json_text(
        ScaleDocument(
            command=study.command,
            usable_cores=study.usable_cores,
            runs=[_run(run) for run in study.runs],
            rungs=[_rung(rung, study) for rung in study.rungs],
            fits=Fits(_fit(study.amdahl), _fit(study.usl)),
            best=_best(study),
            notes=notes_of(study.notes),
        )
    )


def _run(run: ladder.LadderRun) -> Run:
    return filled(
        Run,
        run,
        sps=None if run.sps is None else Interval(*run.sps),
        why_no_sps=run.why_no_sps or None,
        bounded_by=run.bound or None,
    )


def _rung(rung: ladder.Rung, study: Study) -> Rung:
    first = study.rungs[0]
    speed_up = rung.sps.median / first.sps.median
    return Rung(
        workers=rung.workers,
        sps=Interval(*rung.sps),
        speed_up=speed_up,
        efficiency=speed_up * first.workers / rung.workers,
        fitted_sps=None if study.fit is None else study.fit.law.sps(rung.workers),
    )


def _fit(fit: scaling.Fit | None) -> Fit | None:
    if fit is None:
        return None
    return Fit(
        per_worker_sps=fit.law.per_worker_sps,
        contention=Interval(*fit.contention),
        coherency=Interval(*fit.coherency),
        peak_workers=fit.law.peak,
        ceiling_sps=fit.law.ceiling_sps,
        relative_error=fit.error,
    )


def _best(study: Study) -> Best | None:
    if study.best is None or study.enough is None:
        return None
    return Best(study.best.workers, study.enough.workers, study.bound, study.profile_bound or None)
