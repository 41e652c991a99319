"""Rows of the history: what each run came to, and what it gained over those before it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from rlprof.errors import RunFileError
from rlprof.model.crash import Crash
from rlprof.model.experiment import Experiment
from rlprof.model.finding import Confidence, PricedFinding
from rlprof.model.profile import Interval
from rlprof.model.recording import RunInfo
from rlprof.pace.rates import change_of_rate, crowding
from rlprof.report import wording
from rlprof.report.findings import look_into
from rlprof.report.wording.crash import crash_in_short
from rlprof.runfile.reader import read_run
from rlprof.verification.json_document import ENDING, read_verification
from rlprof.verification.verified import VerifiedFix


class Gain(NamedTuple):
    """The rate of a run over that of an earlier one."""

    times: float
    is_clear: bool
    """As for ``rlprof diff``: whether it is more than noise and other programs explain."""


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One run that could be read."""

    file: str
    run: RunInfo
    sps: Interval | None
    why_no_sps: str
    top: PricedFinding | None
    """The dearest finding with a known cause."""
    crowding: float = 0.0
    """By what part its busy time was longer for other programs on the machine."""
    crash: Crash | None = None
    experiments: tuple[Experiment, ...] = ()
    over_previous: Gain | None = None
    over_first: Gain | None = None

    @property
    def stage(self) -> str:
        """Text that tells the run from others: its label, else its commit; empty without either."""
        return self.run.label or self.run.git or ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks that its rate does not say: that it ended badly, or why there is none."""
        remarks = []
        if not self.run.complete:
            remarks.append("still being recorded" if self.run.is_live else "recording cut off")
        if self.crash is not None:
            remarks.append(wording.unglued(crash_in_short(self.crash)))
        elif self.run.exit_code:
            remarks.append(f"exit code {self.run.exit_code}")
        if self.why_no_sps:
            remarks.append(f"no sps: {self.why_no_sps}")
        return tuple(remarks)


class Unread(NamedTuple):
    """A file that is no run and no verified fix, or no whole one."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class History:
    rows: tuple[HistoryRow, ...]
    """By the time at which the runs began."""
    unread: tuple[Unread, ...]
    verified: tuple[VerifiedFix, ...] = ()
    """By the time at which they were measured."""

    @property
    def is_empty(self) -> bool:
        """True if nothing could be read."""
        return not self.rows and not self.verified


def history_files(places: Iterable[Path]) -> list[Path]:
    """The files of runs and of verified fixes that are named, and those in the folders that are, or in a ``.rlprof`` there; each once.

    Links in a folder are left out: ``latest`` is one to a file beside it.
    """
    found: dict[str, Path] = {}
    for place in places:
        folders = (place, place / ".rlprof")
        inside = (
            path
            for folder in folders
            for pattern in ("*.rlprof", f"*{ENDING}")
            for path in sorted(folder.glob(pattern))
        )
        files = [path for path in inside if not path.is_symlink() and not path.is_dir()]
        for path in files if place.is_dir() else [place]:
            # Not resolve(), which raises for links that lead to themselves.
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def read_row(path: Path) -> HistoryRow | VerifiedFix | Unread:
    """The run in ``path``, folded and priced, without its gains; or the verified fix there."""
    try:
        if path.name.endswith(ENDING):
            return read_verification(path)
        recording = read_run(path)
    except RunFileError as error:
        return Unread(str(path), error.message)
    found = look_into(recording)
    profile = found.profile
    known = (f for f in found.priced.listed if f.finding.confidence is not Confidence.SUSPECTED)
    return HistoryRow(
        file=str(path),
        run=recording.run,
        sps=profile.throughput.steps_per_s,
        why_no_sps=wording.unglued(wording.lack_of_steps(profile.throughput)),
        top=next(known, None),
        crash=found.crash,
        experiments=recording.experiments,
        crowding=crowding(
            available=profile.load.available_us,
            used=profile.load.got_us,
            queued=profile.load.queued_us,
        ),
    )


def history_of(read: Sequence[HistoryRow | VerifiedFix | Unread]) -> History:
    """Return what was read, in order of time, each row with its gains.

    A run is compared with runs of the same program on a machine of the same kind alone.
    """
    rows = sorted(
        (row for row in read if isinstance(row, HistoryRow)),
        key=lambda row: (row.run.started_unix_s, row.file),
    )
    first: dict[tuple[str, ...], HistoryRow] = {}
    previous: dict[tuple[str, ...], HistoryRow] = {}
    with_gains = []
    for row in rows:
        kind = _kind(row.run)
        if row.sps is not None and row.sps.median > 0:
            with_gains.append(
                replace(
                    row,
                    over_previous=_gain(row, previous.get(kind)),
                    over_first=_gain(row, first.get(kind)),
                )
            )
            first.setdefault(kind, row)
            previous[kind] = row
        else:
            with_gains.append(row)
    verified = (fix for fix in read if isinstance(fix, VerifiedFix))
    return History(
        tuple(with_gains),
        tuple(unread for unread in read if isinstance(unread, Unread)),
        tuple(sorted(verified, key=lambda fix: fix.measured)),
    )


def _kind(run: RunInfo) -> tuple[str, ...]:
    return run.script, *(run.host.get(fact, "") for fact in ("cpu_model", "usable_cores"))


def _gain(row: HistoryRow, before: HistoryRow | None) -> Gain | None:
    if before is None or before.sps is None or row.sps is None:
        return None
    change = change_of_rate(
        before.sps, row.sps, crowding_then=before.crowding, crowding_now=row.crowding
    )
    return Gain(change.ratio.median, change.is_clear)
