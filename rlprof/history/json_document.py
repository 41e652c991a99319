"""The history and its calibration as JSON: their keys, in order, and their values. ``history.schema.json`` and
``calibration.schema.json`` are made from these.

Within a version keys are only added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from rlprof.documents.json import (
    Interval,
    Number,
    document_as_text,
    filled,
    means,
)
from rlprof.history import calibration as calibrations
from rlprof.history.calibration import Calibration, GainSource
from rlprof.history.rows import History, HistoryRow
from rlprof.model.finding import PricedFinding
from rlprof.model.profile import PhaseKind
from rlprof.pricing.ranking import times_as_fast
from rlprof.renderers.json_report.document import Crash, Range
from rlprof.verification.verified import Standing, VerifiedFix


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


UnreadFiles: TypeAlias = Annotated[
    Sequence[Unread], means("Files that are no run and no verified fix, or no whole one.")
]
StandingTold: TypeAlias = Annotated[
    Standing,
    means(
        "`held`: the measured interval and the promised range meet; else it lies `above` or `below`."
    ),
]


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
    standing: StandingTold
    base: Annotated[str, means("Commit without the fix.")]
    head: str


class HistoryDocument(Struct, frozen=True):
    """Document of `rlprof history --format json`. Within a version keys are only ever added: ignore those you do not know. A value that could not be measured is null."""

    format: Literal["rlprof-history"]
    version: Literal[1]
    """1: the first."""
    rlprof: str
    runs: Annotated[Sequence[Run], means("In order of time.")]
    unread: UnreadFiles
    verified: Annotated[Sequence[Verified], means("By `rlprof verify`, in order of time.")]


def history_as_json(history: History) -> str:
    return document_as_text(
        HistoryDocument,
        history,
        runs=[_run(row) for row in history.rows],
        verified=[_verified(fix) for fix in history.verified],
    )


def _run(row: HistoryRow) -> Run:
    return filled(
        Run,
        row.run,
        file=row.file,
        started=row.run.started.isoformat(timespec="seconds"),
        crash=row.crash,
        sps=row.sps,
        why_no_sps=row.why_no_sps or None,
        gain_over_previous=row.over_previous,
        gain_over_first=row.over_first,
        bottleneck=None if row.top is None else _bottleneck(row.top),
    )


def _verified(fix: VerifiedFix) -> Verified:
    return filled(
        Verified,
        fix,
        measured=fix.measured.isoformat(timespec="seconds"),
        finding=fix.promise.finding,
        run_id=fix.promise.run_id,
        promised=fix.promise.share,
        tried=fix.promise.tried,
        saved_share=fix.got,
        times=times_as_fast(fix.got.median),
        base=fix.base.name,
        head=fix.head.name,
    )


def _bottleneck(priced: PricedFinding) -> Bottleneck:
    found = priced.finding
    return filled(Bottleneck, found, id=found.detector, saved_share=priced.saved_share)


# --- the calibration ----------------------------------------------------------------------------

Count = Annotated[int, Meta(ge=0)]


class CalibrationRow(Struct, frozen=True):
    finding: Annotated[str | None, means("Id of the detector; null for all.")]
    verified: Annotated[Count, means("Promises that `rlprof verify` measured with the real fix.")]
    tried: Annotated[Count, means("Promises that `rlprof try` measured with a treatment.")]
    held: Annotated[float, means("Share of the promises that held, 0 to 1.")]
    median_excess: Annotated[
        float,
        means(
            "Of the middle of the promised range less the measured median, as shares of the time per step: positive "
            "where too much was promised."
        ),
    ]
    worst_excess: Annotated[float, means("The one that is farthest from 0, with its sign.")]


class Promise(Struct, frozen=True):
    when: Annotated[
        str, means("End of the verification, or start of the run in which it was tried; UTC.")
    ]
    source: GainSource
    finding: str
    promised: Annotated[Range, means("Share of the time per step to be saved, by samples.")]
    measured: Interval
    standing: StandingTold
    excess: Annotated[float, means("As `median_excess`.")]
    file: str


class CalibrationDocument(Struct, frozen=True):
    """Document of `rlprof history --calibration --format json`. Within a version keys are only ever added: ignore those you do not know. A value that could not be measured is null."""

    format: Literal["rlprof-calibration"]
    version: Literal[1]
    """1: the first."""
    rlprof: str
    whole: Annotated[
        CalibrationRow | None, means("Over all promises; null where none was measured.")
    ]
    by_finding: Annotated[Sequence[CalibrationRow], means("That of the most promises first.")]
    promises: Annotated[Sequence[Promise], means("In order of time.")]
    ceilings_left_out: Annotated[Count, means("Experiments that only bound a gain.")]
    unclear_left_out: Annotated[Count, means("Experiments that came to no clear gain.")]
    unread: UnreadFiles


def calibration_as_json(calibration: Calibration) -> str:
    return document_as_text(
        CalibrationDocument,
        calibration,
        whole=None if calibration.whole is None else _calibration_row(calibration.whole),
        by_finding=[_calibration_row(row) for row in calibration.rows],
        promises=[_promise(each) for each in calibration.promises],
        ceilings_left_out=calibration.ceilings,
        unclear_left_out=calibration.unclear,
    )


def _calibration_row(row: calibrations.CalibrationRow) -> CalibrationRow:
    return filled(
        CalibrationRow,
        row,
        finding=row.finding or None,
        verified=row.number(GainSource.VERIFIED),
        tried=row.number(GainSource.TRIED),
    )


def _promise(each: calibrations.MeasuredPromise) -> Promise:
    when = each.when.isoformat(timespec="seconds")
    return filled(Promise, each, when=when, measured=each.got)
