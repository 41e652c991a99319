"""Promised gains against those that came: of fixes that were verified, and of findings that were tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from statistics import median
from typing import NamedTuple

from rlprof.history.rows import History, HistoryRow, Unread
from rlprof.model.experiment import MeasuredShare, TreatmentKind, TryOutcome
from rlprof.model.finding import Range
from rlprof.verification.verified import Standing, VerifiedFix, excess, standing


class GainSource(Enum):
    """Way in which a gain was measured."""

    VERIFIED = "verified"
    """With the real fix: ``rlprof verify``."""
    TRIED = "tried"
    """With a treatment, switched on and off in turns: ``rlprof try``."""


class MeasuredPromise(NamedTuple):
    """A promise by samples, and the gain that was measured."""

    when: datetime
    source: GainSource
    finding: str
    promised: Range
    got: MeasuredShare
    file: str

    @property
    def standing(self) -> Standing:
        return standing(self.promised, self.got)

    @property
    def excess(self) -> float:
        """Middle of the promised range less the measured median: positive where too much was promised."""
        return excess(self.promised, self.got)


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """Promises of one detector, or all; there is at least one."""

    finding: str
    """Empty for all."""
    promises: tuple[MeasuredPromise, ...]

    @property
    def kept(self) -> int:
        """Promises that held."""
        return sum(each.standing is Standing.HELD for each in self.promises)

    @property
    def held(self) -> float:
        """Share of the promises that held."""
        return self.kept / len(self.promises)

    @property
    def median_excess(self) -> float:
        return median(each.excess for each in self.promises)

    @property
    def worst_excess(self) -> float:
        """The one that is farthest from nothing, with its sign."""
        return max((each.excess for each in self.promises), key=abs)

    def number(self, source: GainSource) -> int:
        return sum(each.source is source for each in self.promises)


@dataclass(frozen=True, slots=True)
class Calibration:
    rows: tuple[CalibrationRow, ...]
    """By detector, that of the most promises first."""
    whole: CalibrationRow | None
    """All of them; None where nothing that was promised was measured."""
    promises: tuple[MeasuredPromise, ...]
    """In order of time."""
    ceilings: int
    """Experiments that only bound a gain, and so are no part of it."""
    unclear: int
    """Experiments that came to no clear gain."""
    unread: tuple[Unread, ...]


def calibration_of(history: History) -> Calibration:
    """Compare all promises of ``history`` with what was measured; of copies of a run one counts."""
    runs = {row.run.id: row for row in history.rows}.values()
    found = [*map(_of_fix, history.verified), *(each for row in runs for each in _tried(row))]
    promises = tuple(sorted(found, key=lambda each: (each.when, each.finding)))
    by_finding: dict[str, list[MeasuredPromise]] = {}
    for each in promises:
        by_finding.setdefault(each.finding, []).append(each)
    rows = [CalibrationRow(finding, tuple(of)) for finding, of in by_finding.items()]
    experiments = [each for row in runs for each in row.experiments if each.predicted is not None]
    measured = [each for each in experiments if each.outcome is TryOutcome.MEASURED]
    return Calibration(
        rows=tuple(sorted(rows, key=lambda row: (-len(row.promises), row.finding))),
        whole=CalibrationRow("", promises) if promises else None,
        promises=promises,
        ceilings=sum(each.kind is TreatmentKind.CEILING for each in measured),
        unclear=len(experiments) - len(measured),
        unread=history.unread,
    )


def _of_fix(fix: VerifiedFix) -> MeasuredPromise:
    promise = fix.promise
    return MeasuredPromise(
        fix.measured, GainSource.VERIFIED, promise.finding, promise.share, fix.got, fix.file
    )


def _tried(row: HistoryRow) -> Iterator[MeasuredPromise]:
    """Gains alone: of a ceiling nobody knows how much a fix would save."""
    for each in row.experiments:
        is_gain = each.kind is TreatmentKind.GAIN and each.outcome is TryOutcome.MEASURED
        if is_gain and each.predicted is not None and each.measured is not None and each.finding:
            yield MeasuredPromise(
                row.run.started,
                GainSource.TRIED,
                each.finding,
                each.predicted,
                each.measured,
                row.file,
            )


def all_rows(calibration: Calibration) -> Sequence[CalibrationRow]:
    """By detector, and in all."""
    return (*calibration.rows, *filter(None, [calibration.whole]))
