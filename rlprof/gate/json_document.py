"""A check as JSON. ``check.schema.json`` describes it; within a version keys are only added."""

from __future__ import annotations

from typing import Final

import rlprof
from rlprof.gate import words
from rlprof.gate.counters import CounterDifference
from rlprof.gate.decision import Decision, State
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome, exit_code
from rlprof.gate.program import Side
from rlprof.model.profile import Interval
from rlprof.renderers.json_report.values import Json, as_json_text, known, number

FORMAT: Final = "rlprof-check"
FORMAT_VERSION: Final = 1
"""1: the first."""


def outcome_as_json(outcome: Outcome, *, on_inconclusive: str | None) -> str:
    return as_json_text(
        {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "rlprof": rlprof.__version__,
            "verdict": outcome.verdict.value.replace(" ", "-"),
            "text": words.verdict(outcome),
            "exit_code": exit_code(outcome.verdict, on_inconclusive=on_inconclusive),
            "command": list(outcome.command),
            "unit": outcome.unit,
            "base": _side(outcome, Side.BASE, outcome.base),
            "head": _side(outcome, Side.HEAD, outcome.head),
            "decision": None
            if outcome.decision is None
            else _decision(outcome.decision, words.reasons(outcome)),
            "runs": [_run(run) for run in outcome.runs],
            "counters_per_step": [_counter(it) for it in outcome.counters],
            "findings": [
                {
                    "fate": it.fate.value,
                    "id": it.shown.finding.detector,
                    "text": words.finding(it, outcome),
                }
                for it in words.worse_findings(outcome)
            ],
            "failure": None if outcome.failure is None else dict(outcome.failure._asdict()),
            "notes": [
                {"level": note.level, "slug": note.slug, "text": note.text}
                for note in outcome.notes
            ],
        }
    )


def _side(outcome: Outcome, side: Side, name: str) -> dict[str, Json]:
    sps = outcome.sps(side)
    return {"name": name, "sps": None if sps is None else _interval(sps)}


def _decision(decision: Decision, reasons: list[str]) -> dict[str, Json]:
    return {
        "ratio": _interval(decision.ratio),
        "asked_effect": number(decision.asked),
        "min_effect": number(decision.min_effect),
        "minimum_detectable_effect": known(decision.mde),
        "noise": known(decision.noise),
        "pairs": decision.pairs,
        "confirmed": decision.state is State.REGRESSION,
        "reasons": [*reasons],
    }


def _run(run: MeasuredRun) -> dict[str, Json]:
    return {
        "pair": run.pair,
        "side": run.side.value,
        "sps": None if run.sps is None else _interval(run.sps),
        "steps": number(run.steps),
        "source": run.source,
        "wall_s": number(run.wall_s),
    }


def _counter(it: CounterDifference) -> dict[str, Json]:
    return {
        "name": it.name,
        "base": known(it.base),
        "head": known(it.head),
        "allowed": known(it.allowed),
        "fails": it.fails,
        "reason": it.reason,
    }


def _interval(value: Interval) -> dict[str, Json]:
    return {"median": number(value.median), "low": number(value.low), "high": number(value.high)}
