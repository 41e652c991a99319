"""A ladder as JSON. ``docs/scale.md`` describes the keys; within a version they are only added."""

from __future__ import annotations

from typing import Final

import rlprof
from rlprof.model.profile import Interval
from rlprof.pace.scaling import Fit
from rlprof.renderers.json_report.values import Json, as_json_text, number
from rlprof.scaling.ladder import LadderRun, Rung
from rlprof.scaling.study import Study

FORMAT: Final = "rlprof-scale"
FORMAT_VERSION: Final = 1
"""1: the first."""


def study_as_json(study: Study) -> str:
    return as_json_text(
        {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "rlprof": rlprof.__version__,
            "command": list(study.command),
            "usable_cores": number(study.usable_cores),
            "runs": [_run(run) for run in study.runs],
            "rungs": [_rung(rung, study) for rung in study.rungs],
            "fits": {"amdahl": _fit(study.amdahl), "usl": _fit(study.usl)},
            "best": _best(study),
            "notes": [
                {"level": note.level, "slug": note.slug, "text": note.text} for note in study.notes
            ],
        },
        is_rounded=True,
    )


def _run(run: LadderRun) -> dict[str, Json]:
    return {
        "workers": run.workers,
        "round": run.round,
        "run_file": run.run_file,
        "exit_code": run.exit_code,
        "sps": None if run.sps is None else _interval(run.sps),
        "why_no_sps": run.why_no_sps or None,
        "processes": run.processes,
        "cpu_share": number(run.cpu_share),
        "taken_share": number(run.taken_share),
        "bounded_by": run.bound or None,
    }


def _rung(rung: Rung, study: Study) -> dict[str, Json]:
    first = study.rungs[0]
    speed_up = rung.sps.median / first.sps.median
    return {
        "workers": rung.workers,
        "sps": _interval(rung.sps),
        "speed_up": number(speed_up),
        "efficiency": number(speed_up * first.workers / rung.workers),
        "fitted_sps": None if study.fit is None else number(study.fit.law.sps(rung.workers)),
    }


def _fit(fit: Fit | None) -> Json:
    if fit is None:
        return None
    return {
        "per_worker_sps": number(fit.law.per_worker_sps),
        "contention": _interval(fit.contention),
        "coherency": _interval(fit.coherency),
        "peak_workers": number(fit.law.peak),
        "ceiling_sps": number(fit.law.ceiling_sps),
        "relative_error": number(fit.error),
    }


def _best(study: Study) -> Json:
    if study.best is None or study.enough is None:
        return None
    return {
        "workers": study.best.workers,
        "as_fast_within_spread": study.enough.workers,
        "bounded_by": study.bound,
        "profile_bounded_by": study.profile_bound or None,
    }


def _interval(value: Interval) -> dict[str, Json]:
    return {"median": number(value.median), "low": number(value.low), "high": number(value.high)}
