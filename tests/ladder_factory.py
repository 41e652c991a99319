"""Ladders told as counts and rates: ``a_study({1: 100, 2: 180, 4: 250})``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rlprof.model.profile import Interval
from rlprof.scaling.ladder import LadderRun
from rlprof.scaling.study import Study, study_of

COMMAND = ("train.py", "--envs", "{}")


def a_run(workers: int, sps: float | None, *, within: float = 0.03, **changes: object) -> LadderRun:
    """A run that ended well on a machine of 64 cores; ``sps=None`` is one without a rate."""
    values: dict[str, object] = {
        "workers": workers,
        "round": 1,
        "run_file": f".rlprof/train-{workers}-workers.rlprof",
        "exit_code": 0,
        "sps": None if sps is None else Interval(sps, sps * (1 - within), sps * (1 + within)),
        "why_no_sps": "nothing counted steps" if sps is None else "",
        "processes": workers + 1,
        "usable_cores": 64.0,
    }
    # Keyword arguments of many types from one dict: the dataclass checks them by name.
    return LadderRun(**{**values, **changes})  # type: ignore[arg-type]


def a_study(rates: Mapping[int, float], *, within: float = 0.03, **changes: object) -> Study:
    return study([a_run(n, sps, within=within, **changes) for n, sps in rates.items()])


def study(runs: Sequence[LadderRun], *, interrupted: bool = False) -> Study:
    return study_of(COMMAND, runs, interrupted=interrupted)


def slugs(found: Study) -> list[str]:
    return [note.slug for note in found.notes]
