"""Rows of a history that read like its story: ``a_row(2400, at=1, label="stage-1")``."""

from __future__ import annotations

from collections.abc import Sequence

from rlprof.history.rows import HistoryRow
from rlprof.model.experiment import Experiment
from rlprof.model.finding import PricedFinding
from rlprof.model.profile import Interval
from rlprof.model.recording import RunInfo


def a_row(
    sps: float | None,
    *,
    at: float,
    within: float = 0.02,
    script: str = "train.py",
    cpu_model: str = "Test CPU",
    top: PricedFinding | None = None,
    crowding: float = 0.0,
    experiments: Sequence[Experiment] = (),
    **run_changes: object,
) -> HistoryRow:
    """A run of 12 s that began ``at`` that many hours into the project."""
    values: dict[str, object] = {
        "id": "0123456789abcdef",
        "command": ("/venv/bin/python", script, "--seed", "1"),
        "script": script,
        "cwd": "/home/researcher/project",
        "started_unix_s": 1_700_000_000.0 + at * 3600,
        "wall_us": 12_000_000,
        "exit_code": 0,
        "complete": True,
        "host": {"cpu_model": cpu_model, "usable_cores": "8"},
    }
    return HistoryRow(
        file=f".rlprof/{at:g}.rlprof",
        # Keyword arguments of many types from one dict: the dataclass checks them by name.
        run=RunInfo(**{**values, **run_changes}),  # type: ignore[arg-type]
        sps=None if sps is None else Interval(sps, sps * (1 - within), sps * (1 + within)),
        why_no_sps="nothing counted steps" if sps is None else "",
        top=top,
        crowding=crowding,
        experiments=tuple(experiments),
    )
