"""The history as JSON. ``docs/history.md`` describes the keys; within a version they are only added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from rlprof.history import rows
from rlprof.history.rows import History, HistoryRow
from rlprof.model.finding import PricedFinding
from rlprof.model.profile import PhaseKind
from rlprof.renderers.json_report import crash_of
from rlprof.renderers.json_report.document import Crash, Range
from rlprof.renderers.json_report.values import (
    Document,
    Interval,
    Number,
    as_json_text,
    filled,
    seconds,
)


class Gain(Struct, frozen=True):
    times: Number
    is_clear: bool


class Bottleneck(Struct, frozen=True):
    id: str
    title: str
    phase: PhaseKind
    saved_share: Range


class Run(Struct, frozen=True):
    file: str
    id: str
    started: str
    label: str | None
    git: str | None
    script: str
    command: Sequence[str]
    wall_s: Number
    exit_code: int | None
    complete: bool
    crash: Crash | None
    sps: Interval | None
    why_no_sps: str | None
    gain_over_previous: Gain | None
    gain_over_first: Gain | None
    bottleneck: Bottleneck | None


class Unread(Struct, frozen=True):
    file: str
    reason: str


class HistoryDocument(Document, frozen=True, kw_only=True):
    format: Literal["rlprof-history"] = "rlprof-history"
    runs: Sequence[Run]
    unread: Sequence[Unread]


def history_as_json(history: History) -> str:
    return as_json_text(
        HistoryDocument(
            runs=[_run(row) for row in history.rows],
            unread=[Unread(*unread) for unread in history.unread],
        )
    )


def _run(row: HistoryRow) -> Run:
    return filled(
        Run,
        row.run,
        file=row.file,
        started=row.run.started.isoformat(timespec="seconds"),
        wall_s=seconds(row.run.wall_us),
        crash=crash_of(row.crash),
        sps=None if row.sps is None else Interval(*row.sps),
        why_no_sps=row.why_no_sps or None,
        gain_over_previous=_gain(row.over_previous),
        gain_over_first=_gain(row.over_first),
        bottleneck=None if row.top is None else _bottleneck(row.top),
    )


def _gain(gain: rows.Gain | None) -> Gain | None:
    return None if gain is None else Gain(*gain)


def _bottleneck(priced: PricedFinding) -> Bottleneck:
    share = Range(*priced.saved_share)
    return filled(Bottleneck, priced.finding, id=priced.finding.detector, saved_share=share)
