"""The history as JSON: its keys, in order, and their values. ``history.schema.json`` is made from these.

Within a version keys are only added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Struct

import rlprof
from rlprof.history import rows
from rlprof.history.rows import History, HistoryRow
from rlprof.model.finding import PricedFinding
from rlprof.model.profile import PhaseKind
from rlprof.renderers.json_report import crash_of
from rlprof.renderers.json_report.document import Crash, Range
from rlprof.renderers.json_report.values import (
    Interval,
    Number,
    as_json_text,
    filled,
    means,
    seconds,
)
from rlprof.verification.promise import Standing
from rlprof.verification.verified import VerifiedFix, times


class Gain(Struct, frozen=True):
    times: Annotated[Number, means("The rate over that of the other run.")]
    is_clear: Annotated[bool, means("Whether it is more than noise and other programs explain.")]


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
    exit_code: Annotated[int | None, means("128+n for signal n; null where the end was not seen.")]
    complete: Annotated[bool, means("False when the recording was cut off, or goes on.")]
    crash: Crash | None
    sps: Interval | None
    why_no_sps: Annotated[str | None, means("Null where there is a rate.")]
    gain_over_previous: Annotated[
        Gain | None, means("Null without an earlier rate to compare with.")
    ]
    gain_over_first: Annotated[Gain | None, means("As `gain_over_previous`.")]
    bottleneck: Annotated[
        Bottleneck | None, means("The dearest finding with a known cause; null without one.")
    ]


class Unread(Struct, frozen=True):
    file: str
    reason: str


class Verified(Struct, frozen=True):
    file: str
    measured: Annotated[str, means("Time of its end, UTC.")]
    script: str
    finding: str
    run_id: Annotated[str, means("Of the run that promised it.")]
    promised: Annotated[Range, means("Share of the time per step to be saved, by samples.")]
    tried: Annotated[Interval | None, means("By `rlprof try`; null for a finding not tried.")]
    saved_share: Annotated[Interval, means("Measured, with its 90 % interval.")]
    times: Annotated[Number, means("The rate of head over that of base.")]
    standing: Annotated[
        Standing,
        means(
            "`held`: the measured interval and the promised range meet; else it lies `above` or `below`."
        ),
    ]
    base: Annotated[str, means("Commit without the fix.")]
    head: str


class HistoryDocument(Struct, frozen=True):
    """Document of `rlprof history --format json`. Within a version keys are only ever added: ignore those you do not know. A value that could not be measured is null."""

    format: Literal["rlprof-history"]
    version: Literal[1]
    """1: the first."""
    rlprof: str
    runs: Annotated[Sequence[Run], means("In order of time.")]
    unread: Annotated[
        Sequence[Unread], means("Files that are no run and no verified fix, or no whole one.")
    ]
    verified: Annotated[Sequence[Verified], means("By `rlprof verify`, in order of time.")]


def history_as_json(history: History) -> str:
    return as_json_text(
        HistoryDocument(
            format="rlprof-history",
            version=1,
            rlprof=rlprof.__version__,
            runs=[_run(row) for row in history.rows],
            unread=[Unread(*unread) for unread in history.unread],
            verified=[_verified(fix) for fix in history.verified],
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


def _verified(fix: VerifiedFix) -> Verified:
    tried = fix.promise.tried
    return Verified(
        file=fix.file,
        measured=fix.measured.isoformat(timespec="seconds"),
        script=fix.script,
        finding=fix.promise.finding,
        run_id=fix.promise.run_id,
        promised=Range(*fix.promise.share),
        tried=None if tried is None else Interval(*tried),
        saved_share=Interval(*fix.got),
        times=times(fix.got.median),
        standing=fix.standing,
        base=fix.base.name,
        head=fix.head.name,
    )


def _gain(gain: rows.Gain | None) -> Gain | None:
    return None if gain is None else Gain(*gain)


def _bottleneck(priced: PricedFinding) -> Bottleneck:
    share = Range(*priced.saved_share)
    return filled(Bottleneck, priced.finding, id=priced.finding.detector, saved_share=share)
