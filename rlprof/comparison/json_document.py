"""A comparison as JSON. ``diff.schema.json`` describes it; within a version keys are only added."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from typing import Final

import rlprof
from rlprof.comparison.calltree import ChangeBox, ChangeTree, Cost, FunctionChange
from rlprof.comparison.compare import Comparison, CounterChange
from rlprof.comparison.findings import FindingChange
from rlprof.comparison.outline import drawn
from rlprof.model.finding import PricedFinding, Range
from rlprof.model.profile import Interval
from rlprof.model.report import Report
from rlprof.pace.rates import RateChange
from rlprof.renderers.json_report.values import Json, as_json_text, known, number
from rlprof.report import wording

FORMAT: Final = "rlprof-diff"
FORMAT_VERSION: Final = 1
"""1: the first."""

MOST_FUNCTIONS: Final = 200
THINNEST_SHARE: Final = 0.001
"""Of the root: the document is for programs that say what changed, not for drawing."""


def comparison_as_json(found: Comparison) -> str:
    return as_json_text(
        {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "rlprof": rlprof.__version__,
            "metric": found.metric,
            "base": _run(found.base),
            "new": _run(found.new),
            "rate": None if found.rate is None else _rate(found.rate),
            "findings": [_finding(it) for it in found.findings],
            "counters_per_step": [_counter(it) for it in found.counters],
            "quantities": [
                {"name": it.name, "unit": it.unit, "base": known(it.base), "new": known(it.new)}
                for it in found.quantities
            ],
            "calltree": None if found.tree is None else _tree(found.tree),
            "notes": [
                {"level": note.level, "slug": note.slug, "text": note.text} for note in found.notes
            ],
        },
        is_rounded=True,
    )


def _run(report: Report) -> dict[str, Json]:
    run = report.run
    started = datetime.fromtimestamp(run.started_unix_s, tz=timezone.utc)
    sps = report.throughput.steady_sps
    return {
        "id": run.id,
        "file": report.run_file or None,
        "label": run.label,
        "git": run.git,
        "command": list(run.command),
        "started": started.isoformat(timespec="seconds"),
        "exit_code": run.exit_code,
        "complete": run.complete,
        "host": dict(run.host),
        "unit": report.throughput.unit,
        "steady_sps": None if sps is None else _interval(sps),
        "why_no_sps": wording.unglued(wording.lack_of_rate(report.throughput)) or None,
    }


def _rate(rate: RateChange) -> dict[str, Json]:
    return {
        "ratio": _interval(rate.ratio),
        "crowding_ratio": number(rate.crowding_ratio),
        "is_clear": rate.is_clear,
    }


def _finding(change: FindingChange) -> dict[str, Json]:
    return {
        "fate": change.fate.value,
        "id": change.shown.finding.detector,
        "unit": {"step": "us_per_step", "share": "share", "run": "us"}[change.unit],
        "base": _priced(change.base, change.base_cost),
        "new": _priced(change.new, change.new_cost),
    }


def _priced(priced: PricedFinding | None, cost: Range | None) -> Json:
    if priced is None or cost is None:
        return None
    return {
        "title": priced.finding.title,
        "phase": priced.finding.phase.value,
        "confidence": priced.finding.confidence.value,
        "cost": _range(cost),
        "saved_share": _range(priced.saved_share),
        "locations": [
            {"file": it.file, "line": it.line, "function": it.function}
            for it in priced.finding.locations
        ],
    }


def _counter(change: CounterChange) -> dict[str, Json]:
    return {
        "name": change.name,
        "base": known(change.base),
        "new": known(change.new),
        "is_clear": change.is_clear,
    }


def _tree(tree: ChangeTree) -> dict[str, Json]:
    shown = drawn(tree, THINNEST_SHARE)
    return {
        "per": tree.per,
        "common_ratio": number(tree.common_ratio),
        "pruned_share": number(shown.pruned_share),
        "boxes": [_box(it) for it in shown.boxes],
        "functions": [_function(it) for it in tree.functions[:MOST_FUNCTIONS]],
    }


def _box(box: ChangeBox) -> dict[str, Json]:
    return {
        "parent": box.parent,
        "label": box.label,
        "place": box.place,
        "kind": box.kind,
        "base": _cost(box.base),
        "new": _cost(box.new),
        "noise_us": number(box.noise_us),
        "is_clear": box.is_clear,
    }


def _function(function: FunctionChange) -> dict[str, Json]:
    return {
        "label": function.label,
        "place": function.place,
        "kind": function.kind,
        "base": _cost(function.base),
        "new": _cost(function.new),
        "noise_us": number(function.noise_us),
        "is_clear": function.is_clear,
        "is_waiting": function.is_waiting,
    }


def _cost(cost: Cost) -> dict[str, Json]:
    return {"us": number(cost.us), "waiting_us": number(cost.idle_us)}


def _interval(value: Interval) -> dict[str, Json]:
    return {"median": number(value.median), "low": number(value.low), "high": number(value.high)}


def _range(value: Range) -> dict[str, Json]:
    assert math.isfinite(value.high), "prices are bounded"
    return {"low": number(value.low), "high": number(value.high)}
