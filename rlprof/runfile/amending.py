"""Add to a run file that is complete: what was tried in other runs of the same program."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from rlprof.errors import OutputError
from rlprof.model.experiment import Experiment
from rlprof.runfile.experiment_rows import replace_experiments


def amend_experiments(path: Path, experiments: Sequence[Experiment]) -> None:
    """Write ``experiments`` in place of those in the run file. Raises :class:`OutputError` where it cannot be written."""
    try:
        with closing(sqlite3.connect(path.absolute())) as db, db:
            replace_experiments(db, experiments)
    except sqlite3.Error as error:
        raise OutputError(
            f"cannot add experiments to the run file {path}: {error}",
            slug="run-file-not-written",
            hint="they stand in the lines above",
        ) from error
