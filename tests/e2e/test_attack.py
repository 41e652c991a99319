"""The fast half of ``make attack``, a test per row; docs/reliability.md has the table of all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.attack.groups import ROWS
from benchmarks.attack.row import Fate, Row, try_row

PATIENCE = 4.0
"""Bounds in time are those of a machine that does nothing else; tests run beside others."""

LONGEST_S = 300
"""For a row whose every wait comes to its bound."""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that other users get through to, which pytest's own is not."""
    with TemporaryDirectory(prefix="attack-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.timeout(LONGEST_S)
@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS if row.is_fast])
def test_row(row: Row, place: Path):
    outcome = try_row(row, place / row.name, seed=1, patience=PATIENCE)

    if outcome.fate is Fate.NOT_TRIED:
        pytest.skip(outcome.why)
    assert outcome.fate is Fate.PASSED, outcome.why


def test_every_row_has_a_name_of_its_own():
    names = [row.name for row in ROWS]

    assert len(names) == len(set(names))
