"""A verified fix as JSON, printed and kept: its keys, in order, and their values. ``verify.schema.json`` is made from these.

Within a version keys are only added.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

import rlprof
from rlprof.documents.json import (
    DocumentHead,
    Note,
    document_as_text,
    filled,
    means,
    one_of,
)
from rlprof.errors import RunFileError
from rlprof.inputs import read_input
from rlprof.model.experiment import TreatmentKind
from rlprof.pricing.ranking import times_as_fast
from rlprof.verification import verified
from rlprof.verification.verified import CONFIDENCE, Standing, VerifiedFix

FORMAT: Final = "rlprof-verify"
FORMAT_VERSION: Final = 1
ENDING: Final = ".verify.json"
"""Ending of the name of a kept file."""

_MOST_BYTES: Final = 1 << 20

_LEAST: Final = -1e6
Share = Annotated[float, Meta(ge=_LEAST, le=1)]
Rate = Annotated[float, Meta(gt=0, le=1e15)]


class MeasuredShare(Struct, frozen=True):
    median: Share
    low: Share
    high: Share


class PromisedRange(Struct, frozen=True):
    low: Annotated[float, Meta(ge=0, le=1)]
    high: Annotated[float, Meta(ge=0, le=1)]


class Tried(Struct, frozen=True):
    kind: Annotated[
        TreatmentKind,
        means("`gain`, or `ceiling`: its results were others, so no fix saves more."),
    ]
    share: MeasuredShare


class Promise(Struct, frozen=True):
    finding: Annotated[str, means("Id of the detector: `rlprof explain ID` tells more.")]
    title: str
    rank: Annotated[int, Meta(ge=1)]
    file: Annotated[
        str,
        means(
            "Of its heaviest line, from the folder of the run on; empty, with line 0, for a finding without one."
        ),
    ]
    line: Annotated[int, Meta(ge=0)]
    function: str
    share: Annotated[
        PromisedRange,
        means("Share of the steady time per step that its fix was to save, by samples."),
    ]
    tried: Annotated[Tried | None, means("By `rlprof try`; null for a finding that was not tried.")]
    run_file: str
    run_id: str
    run_git: Annotated[str | None, means("Commit of the run that promised it.")]
    run_label: str | None


class Interval(Struct, frozen=True):
    """The median of runs, with the lowest and the highest."""

    median: Rate
    low: Rate
    high: Rate


class VerifiedSide(Struct, frozen=True):
    name: str
    sps: Interval


class VerifiedPair(Struct, frozen=True):
    base: Rate
    head: Rate


class Gain(Struct, frozen=True):
    """Measured on base and head."""

    median: Annotated[
        Share,
        means("Share of the time per step that head saves; negative where it takes longer."),
    ]
    low: Share
    high: Share
    times: Annotated[float, means("The rate of head over that of base.")]
    confidence: float
    excess: Annotated[
        float,
        means(
            "Middle of the promised range less the median: positive where too much was promised."
        ),
    ]


class VerifyDocument(Struct, frozen=True):
    """Document of `rlprof verify --format json`, and of the file that keeps it. Within a version keys are only ever added: ignore those you do not know."""

    format: Literal["rlprof-verify"]
    version: Literal[1]
    """1: the first."""
    rlprof: str
    measured: Annotated[str, means("ISO 8601, UTC.")]
    standing: Annotated[
        str,
        one_of(*(each.value for each in Standing)),
        means(
            "`held`: the measured interval and the promised range meet; else it lies `above` or `below`."
        ),
    ]
    script: str
    command: Annotated[Sequence[str], means("What was run, without its secrets.")]
    unit: Annotated[str, one_of("steps", "updates", "iterations")]
    promise: Promise
    gain: Gain
    base: VerifiedSide
    head: VerifiedSide
    in_turns: Annotated[bool, means("Whether both runs of a pair ran at once (--interleave).")]
    pairs: Annotated[Sequence[VerifiedPair], Meta(min_length=1)]
    notes: Sequence[Note]


def verification_as_json(fix: VerifiedFix) -> str:
    return document_as_text(
        VerifyDocument,
        fix,
        measured=fix.measured.isoformat(timespec="seconds"),
        promise=_promise(fix.promise),
        gain=Gain(*fix.got, times_as_fast(fix.got.median), CONFIDENCE, fix.excess),
    )


def _promise(promise: verified.Promise) -> Promise:
    tried = None
    if promise.tried is not None and promise.tried_kind is not None:
        tried = filled(Tried, promise, kind=promise.tried_kind, share=promise.tried)
    return filled(
        Promise,
        promise,
        tried=tried,
        run_git=promise.run_git or None,
        run_label=promise.run_label or None,
    )


# --- reading what was kept ----------------------------------------------------------------------


def read_verification(path: Path) -> VerifiedFix:
    """The verified fix in ``path``.

    Raises :class:`RunFileError` when the file is missing, is none, is damaged or was written by a newer rlprof.
    """
    try:
        content = read_input(path, _MOST_BYTES)
    except OSError as error:
        raise _unread(path, f"cannot be read: {error.strerror or error}") from error
    try:
        head = msgspec.json.decode(content, type=DocumentHead)
        if head.format != FORMAT:
            raise _unread(path, f'is no verified fix: it has no "format": "{FORMAT}"')
        if head.version > FORMAT_VERSION:
            raise _unread(
                path,
                f"has format version {head.version}; this rlprof {rlprof.__version__} reads up to {FORMAT_VERSION}",
            )
        return _of_document(msgspec.json.decode(content, type=VerifyDocument), path)
    except (msgspec.DecodeError, ValueError, OverflowError, RecursionError) as error:
        raise _unread(path, f"is no verified fix, or is damaged: {error}") from error


def _unread(path: Path, why: str) -> RunFileError:
    return RunFileError(
        f"{path} {why}",
        slug="verification-damaged",
        hint="verify the fix again with `rlprof verify`, or remove the file",
    )


def _of_document(document: VerifyDocument, path: Path) -> VerifiedFix:
    """Raises ``ValueError`` where values do not go together."""
    told = document.promise
    gain, share = document.gain, told.share
    if not gain.low <= gain.median <= gain.high:
        raise ValueError("gain: the ends of its interval do not enclose its median")
    if share.low > share.high:
        raise ValueError("promise: its share is no range of shares")
    return filled(
        VerifiedFix,
        document,
        measured=_moment(document.measured),
        command=tuple(document.command),
        promise=filled(
            verified.Promise,
            told,
            tried=None if told.tried is None else told.tried.share,
            tried_kind=None if told.tried is None else told.tried.kind,
            run_git=told.run_git or "",
            run_label=told.run_label or "",
        ),
        got=gain,
        file=str(path),
    )


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.utcoffset() != timedelta(0):
        raise ValueError("measured: it is no time in UTC")
    return moment.astimezone(timezone.utc)
