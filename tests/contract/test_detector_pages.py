"""Each page shows a fix that is one, and no figure that was not measured."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from tests.contract.test_detectors import MEASURED
from tests.detector_pages import IDS, section, snippets

ACCURACY = Path(__file__).parents[2] / "docs" / "accuracy.md"
MAX_COLUMNS = 90


@pytest.mark.parametrize("detector_id", IDS)
def test_shows_one_before_and_one_after(detector_id):
    (first, before), (second, after) = snippets(detector_id)

    assert (first, second) == ("Before", "After")
    assert before != after


@pytest.mark.parametrize("detector_id", IDS)
def test_its_snippets_are_python_that_does_different_things(detector_id):
    before, after = (ast.parse(code) for _, code in snippets(detector_id))

    assert before.body
    assert after.body
    assert ast.dump(before) != ast.dump(after)


@pytest.mark.parametrize("detector_id", IDS)
def test_its_snippets_fit_side_by_side(detector_id):
    code = [line for _, snippet in snippets(detector_id) for line in snippet.splitlines()]

    assert max(map(len, code)) <= MAX_COLUMNS


def measured_rows() -> dict[str, list[str]]:
    """Rows of the table in ``docs/accuracy.md`` as the pages of their findings have them."""
    rows = defaultdict(list)
    for line in ACCURACY.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 6 or " to " not in cells[2]:
            continue
        program, finding, promised, saved, _, _ = cells
        detector_id, _, remark = finding.partition(", ")
        name = ", ".join(filter(None, [program.rstrip(" *"), remark]))
        rows[detector_id.strip("`")].append(f"| {name} | {saved} | {promised} |")
    return rows


def test_the_table_of_accuracy_is_read():
    rows = measured_rows()

    assert len(rows) > 30
    assert set(rows) <= set(IDS)


@pytest.mark.parametrize("detector_id", IDS)
def test_measured_figures_are_those_of_the_accuracy_page(detector_id):
    rows = measured_rows()[detector_id]

    shown = section(detector_id, MEASURED.removeprefix("## ")).splitlines()

    assert [line for line in shown if line.startswith("| ")][1:] == rows
    assert bool(shown) == bool(rows)
