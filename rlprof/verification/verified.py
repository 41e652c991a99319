"""A fix that was verified: what a run promised for one of its findings, and what both programs made in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, NamedTuple

from rlprof.errors import UsageError
from rlprof.model.experiment import MeasuredShare, TreatmentKind
from rlprof.model.finding import Confidence, PricedFinding, Range
from rlprof.model.profile import Interval, PhaseKind
from rlprof.model.recording import Note, Recording
from rlprof.names import printable, short_path
from rlprof.pricing.experiments import telling_experiment
from rlprof.report.findings import look_into

# --- the promise ----------------------------------------------------------------------------


class Standing(Enum):
    """Place of a measured gain beside a promised one."""

    HELD = "held"
    """The interval of the measurement and the promised range meet."""
    ABOVE = "above"
    """More than was promised, whatever the noise."""
    BELOW = "below"
    """Less than was promised, whatever the noise."""


def standing(promised: Range, got: MeasuredShare) -> Standing:
    if got.low > promised.high:
        return Standing.ABOVE
    return Standing.BELOW if got.high < promised.low else Standing.HELD


def excess(promised: Range, got: MeasuredShare) -> float:
    """Middle of the promised range less the measured median: positive where too much was promised."""
    return (promised.low + promised.high) / 2 - got.median


@dataclass(frozen=True, slots=True)
class Promise:
    """A finding of a run, with the share of the steady time per step that its fix was to save."""

    finding: str
    """The id of its detector."""
    title: str
    rank: int
    file: str
    """File of its heaviest line, from the folder of the run on; empty, with line 0, for a finding without one."""
    line: int
    function: str
    share: Range
    """By samples, whatever was tried since."""
    tried: MeasuredShare | None
    """By ``rlprof try``; None for a finding that was not tried."""
    tried_kind: TreatmentKind | None
    run_file: str
    run_id: str
    run_git: str
    """Commit of the run; empty where none is known."""
    run_label: str = ""


def promise_of(recording: Recording, run_file: str, wanted: str | None = None) -> Promise:
    """Return what ``recording`` promised for the finding ``wanted``, by its id or its rank; by default for the dearest.

    Raises ``UsageError`` where there is no such finding, or none whose gain a steady rate shows.
    """
    priced = look_into(recording).priced
    entries = [*priced.listed, *priced.also_seen]
    chosen = _chosen(entries, priced.listed, wanted, run_file)
    telling = telling_experiment(chosen, recording.experiments, entries)
    share, tried, kind = chosen.saved_share, None, None
    if telling is not None:
        experiment, tried = telling
        kind = experiment.kind
        share = experiment.predicted or share
    heaviest = next(iter(chosen.finding.locations), None)
    return Promise(
        finding=chosen.finding.detector,
        title=chosen.finding.title,
        rank=chosen.rank,
        file="" if heaviest is None else short_path(heaviest.file, recording.run.cwd),
        line=0 if heaviest is None else heaviest.line,
        function="" if heaviest is None else heaviest.function,
        share=share,
        tried=tried,
        tried_kind=kind,
        run_file=run_file,
        run_id=recording.run.id,
        run_git=recording.run.git or "",
        run_label=recording.run.label or "",
    )


def _chosen(
    entries: Sequence[PricedFinding],
    listed: Sequence[PricedFinding],
    wanted: str | None,
    run_file: str,
) -> PricedFinding:
    if wanted is None:
        steady = [entry for entry in listed if entry.finding.phase is PhaseKind.STEADY]
        known = (e for e in steady if e.finding.confidence is not Confidence.SUSPECTED)
        found = next(known, next(iter(steady), None))
        if found is None:
            raise UsageError(
                f"the run {run_file} promises nothing: it has no finding whose fix would make steps faster",
                slug="nothing-promised",
                hint="name the run that led to the fix with --run; `rlprof history` lists them",
            )
        return found
    found = next((e for e in entries if wanted in (e.finding.detector, str(e.rank))), None)
    if found is None:
        there = ", ".join(f"{entry.rank} {entry.finding.detector}" for entry in entries) or "none"
        raise UsageError(
            f"there is no finding {printable(wanted, 80)} in the run {run_file}",
            slug="no-promised-finding",
            hint=f"its findings are: {there}",
        )
    if found.finding.phase is not PhaseKind.STEADY:
        raise UsageError(
            f"{found.finding.detector} is about the start of the program, which no steady rate shows",
            slug="nothing-promised",
            hint="time whole runs before and after its fix; verify compares steps per second",
        )
    return found


# --- what came of it ------------------------------------------------------------------------

CONFIDENCE: Final = 0.9
"""Confidence of the interval of a gain: the true one lies below it in at most one of 20, and above it as rarely."""


class VerifiedSide(NamedTuple):
    name: str
    """Commit of base; folder and commit of head."""
    sps: Interval
    """The median of its runs, with the lowest and the highest."""


class VerifiedPair(NamedTuple):
    """Steady rates of two runs."""

    base: float
    head: float


@dataclass(frozen=True, slots=True)
class VerifiedFix:
    measured: datetime
    """Time of its end, in UTC."""
    script: str
    command: tuple[str, ...]
    """Without secrets."""
    unit: str
    """``steps``, or ``updates`` or ``iterations`` where these stand in."""
    promise: Promise
    base: VerifiedSide
    head: VerifiedSide
    pairs: tuple[VerifiedPair, ...]
    got: MeasuredShare
    """Share of the time per step that head saves, with its interval."""
    in_turns: bool = False
    """True if both runs of a pair ran at once, now the one, now the other."""
    notes: tuple[Note, ...] = ()
    file: str = ""
    """The file that it is kept in; empty while there is none."""

    @property
    def standing(self) -> Standing:
        return standing(self.promise.share, self.got)

    @property
    def excess(self) -> float:
        return excess(self.promise.share, self.got)

    @property
    def is_gain(self) -> bool:
        """True if it is clear that head is faster."""
        return self.got.low > 0
