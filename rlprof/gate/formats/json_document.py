"""A check as JSON. ``check.schema.json`` describes it; within a version keys are only added."""

from __future__ import annotations

from typing import Final

import rlprof
from rlprof.comparison.compare import Comparison
from rlprof.comparison.grown import GrownFunction
from rlprof.gate import cause_words, words
from rlprof.gate.counters import CounterDifference
from rlprof.gate.decision import Decision, State
from rlprof.gate.inconclusive import OnInconclusive
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome, exit_code
from rlprof.gate.program import Side
from rlprof.gate.read_sites import MoreReads
from rlprof.model.profile import Interval
from rlprof.model.recording import Note
from rlprof.renderers.json_report.values import Json, as_json_text, known, number

FORMAT: Final = "rlprof-check"
FORMAT_VERSION: Final = 1
"""1: the first."""


def outcome_as_json(outcome: Outcome, *, on_inconclusive: OnInconclusive | None) -> str:
    return as_json_text(
        {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "rlprof": rlprof.__version__,
            "verdict": outcome.verdict.value.replace(" ", "-"),
            "text": words.verdict(outcome),
            "exit_code": exit_code(outcome, on_inconclusive=on_inconclusive),
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
                    "text": cause_words.finding(it, outcome),
                }
                for it in cause_words.worse_findings(outcome)
            ],
            "recorded_pair": None
            if outcome.comparison is None
            else _pair(outcome, outcome.comparison),
            "failure": None if outcome.failure is None else dict(outcome.failure._asdict()),
            "notes": [_note(it) for it in outcome.notes],
        },
        is_rounded=True,
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


def _pair(outcome: Outcome, found: Comparison) -> dict[str, Json]:
    return {
        "is_comparable": found.rate is not None,
        "text": [told.heading for told in cause_words.causes(outcome)],
        "slower_functions": [_function(it, found) for it in cause_words.slower_functions(outcome)],
        "findings_in_head_only": [
            {"id": it.shown.finding.detector, "text": cause_words.alone_in_words(it, found)}
            for it in cause_words.in_head_only(outcome)
        ],
        "reads": [_read(it, found) for it in cause_words.reads_of(outcome)],
        "notes": [_note(it) for it in found.notes],
    }


def _function(it: GrownFunction, found: Comparison) -> dict[str, Json]:
    assert found.tree is not None, "functions come from a tree"
    return {
        "function": it.label,
        "file": it.place,
        "line": it.line,
        "inside": it.inside,
        "per": found.tree.per,
        "base_us": number(it.base_us),
        "head_us": number(it.new_us),
        "waits": it.waits,
        "text": cause_words.function(it, found),
    }


def _read(it: MoreReads, found: Comparison) -> dict[str, Json]:
    return {
        "counter": it.counter,
        "file": it.file,
        "line": it.line,
        "function": it.function,
        "method": it.method,
        "base": number(it.base),
        "head": number(it.head),
        "text": cause_words.read(it, found),
    }


def _note(it: Note) -> dict[str, Json]:
    return {"level": it.level, "slug": it.slug, "text": it.text}


def _interval(value: Interval) -> dict[str, Json]:
    return {"median": number(value.median), "low": number(value.low), "high": number(value.high)}
