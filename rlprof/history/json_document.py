"""The history as JSON. ``docs/history.md`` describes the keys; within a version they are only added."""

from __future__ import annotations

from typing import Final

import rlprof
from rlprof.history.rows import Gain, History, Row
from rlprof.model.finding import PricedFinding
from rlprof.renderers.json_report import crash_as_json
from rlprof.renderers.json_report.values import Json, as_json_text, number

FORMAT: Final = "rlprof-history"
FORMAT_VERSION: Final = 1
"""1: the first."""


def history_as_json(history: History) -> str:
    return as_json_text(
        {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "rlprof": rlprof.__version__,
            "runs": [_row(row) for row in history.rows],
            "unread": [{"file": unread.file, "reason": unread.reason} for unread in history.unread],
        }
    )


def _row(row: Row) -> dict[str, Json]:
    run = row.run
    return {
        "file": row.file,
        "id": run.id,
        "started": row.started.isoformat(timespec="seconds"),
        "label": run.label,
        "git": run.git,
        "script": run.script,
        "command": list(run.command),
        "wall_s": number(run.wall_us / 1e6),
        "exit_code": run.exit_code,
        "complete": run.complete,
        "crash": crash_as_json(row.crash),
        "sps": None
        if row.sps is None
        else {
            "median": number(row.sps.median),
            "low": number(row.sps.low),
            "high": number(row.sps.high),
        },
        "why_no_sps": row.why_no_sps or None,
        "gain_over_previous": _gain(row.over_previous),
        "gain_over_first": _gain(row.over_first),
        "bottleneck": None if row.top is None else _bottleneck(row.top),
    }


def _gain(gain: Gain | None) -> Json:
    return None if gain is None else {"times": number(gain.times), "is_clear": gain.is_clear}


def _bottleneck(priced: PricedFinding) -> dict[str, Json]:
    return {
        "id": priced.finding.detector,
        "title": priced.finding.title,
        "phase": priced.finding.phase.value,
        "saved_share": {
            "low": number(priced.saved_share.low),
            "high": number(priced.saved_share.high),
        },
    }
