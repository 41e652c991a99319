"""Rows of the table ``experiment``, from and to values."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from rlprof.model.experiment import Experiment, MeasuredShare, TreatmentKind, TryOutcome
from rlprof.model.finding import Range
from rlprof.runfile.opening import RunFileReader
from rlprof.runfile.schema import LEAST_SHARE


def replace_experiments(db: sqlite3.Connection, experiments: Sequence[Experiment]) -> None:
    """Write ``experiments`` into ``db`` in place of those that are there, without a transaction of its own."""
    db.execute("DELETE FROM experiment")
    db.executemany(
        f"INSERT INTO experiment VALUES ({','.join('?' * 16)})", map(_experiment_row, experiments)
    )


def _experiment_row(experiment: Experiment) -> tuple[str | float | None, ...]:
    predicted, measured = experiment.predicted, experiment.measured
    return (
        experiment.finding,
        experiment.file,
        experiment.line,
        experiment.function,
        experiment.treatment,
        experiment.kind.value,
        experiment.outcome.value,
        *((None, None) if predicted is None else map(_kept_share, predicted)),
        *((None, None, None) if measured is None else map(_kept_share, measured)),
        experiment.pairs,
        experiment.slot_s,
        experiment.seconds,
        experiment.note,
    )


def _kept_share(share: float) -> float:
    return min(1.0, max(LEAST_SHARE, share))


def read_experiments(reader: RunFileReader) -> tuple[Experiment, ...]:
    """Return all experiments of a run file, in the order in which they ended."""
    return tuple(map(_experiment, reader.rows("SELECT * FROM experiment ORDER BY rowid")))


def _experiment(row: tuple[Any, ...]) -> Experiment:
    """``check_integrity`` looks at what is in it; that half of a range is missing it could not see."""
    finding, file, line, function, treatment, kind, outcome, *shares = row[:12]
    return Experiment(
        finding,
        file,
        line,
        function,
        treatment,
        TreatmentKind(kind),
        TryOutcome(outcome),
        None if shares[:2] == [None] * 2 else Range(*_known(shares[:2])),
        None if shares[2:] == [None] * 3 else MeasuredShare(*_known(shares[2:])),
        *row[12:],
    )


def _known(shares: list[float | None]) -> list[float]:
    """``shares`` if all are there: SQLite keeps NULL for what is not a number."""
    known = [share for share in shares if share is not None]
    if len(known) < len(shares):
        raise ValueError("a share of an experiment is no number")
    return known
