"""The calibration as JSON: its keys, in order, and their values. ``calibration.schema.json`` is made from these.

Within a version keys are only added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

import rlprof
from rlprof.history import calibration as calibrations
from rlprof.history.calibration import Calibration, GainSource
from rlprof.history.json_document import Unread
from rlprof.renderers.json_report.document import Range
from rlprof.renderers.json_report.values import Interval, as_json_text, means
from rlprof.verification.promise import Standing

Number = Annotated[int, Meta(ge=0)]


class CalibrationRow(Struct, frozen=True):
    finding: Annotated[str | None, means("Id of the detector; null for all.")]
    verified: Annotated[Number, means("Promises that `rlprof verify` measured with the real fix.")]
    tried: Annotated[Number, means("Promises that `rlprof try` measured with a treatment.")]
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
    standing: Annotated[
        Standing,
        means(
            "`held`: the measured interval and the promised range meet; else it lies `above` or `below`."
        ),
    ]
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
    ceilings_left_out: Annotated[Number, means("Experiments that only bound a gain.")]
    unclear_left_out: Annotated[Number, means("Experiments that came to no clear gain.")]
    unread: Annotated[
        Sequence[Unread], means("Files that are no run and no verified fix, or no whole one.")
    ]


def calibration_as_json(calibration: Calibration) -> str:
    return as_json_text(
        CalibrationDocument(
            format="rlprof-calibration",
            version=1,
            rlprof=rlprof.__version__,
            whole=None if calibration.whole is None else _row(calibration.whole),
            by_finding=[_row(row) for row in calibration.rows],
            promises=[_promise(each) for each in calibration.promises],
            ceilings_left_out=calibration.ceilings,
            unclear_left_out=calibration.unclear,
            unread=[Unread(*unread) for unread in calibration.unread],
        )
    )


def _row(row: calibrations.CalibrationRow) -> CalibrationRow:
    return CalibrationRow(
        finding=row.finding or None,
        verified=row.number(GainSource.VERIFIED),
        tried=row.number(GainSource.TRIED),
        held=row.held,
        median_excess=row.median_excess,
        worst_excess=row.worst_excess,
    )


def _promise(each: calibrations.MeasuredPromise) -> Promise:
    return Promise(
        when=each.when.isoformat(timespec="seconds"),
        source=each.source,
        finding=each.finding,
        promised=Range(*each.promised),
        measured=Interval(*each.got),
        standing=each.standing,
        excess=each.excess,
        file=each.file,
    )
