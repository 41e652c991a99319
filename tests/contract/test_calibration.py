"""Numbers that were measured say what, with what and when, and ``docs/calibration.md`` lists them all."""

from __future__ import annotations

import ast
import re
from datetime import date

import pytest

from rlprof.model.finding import Range
from tests.calibration_page import (
    PAGE,
    ROOT,
    SUBJECTS,
    constants,
    is_calibrated,
    page,
    sources,
    tree,
)
from tests.golden_files import check_golden

ALL = [*constants()]
CALIBRATED = [constant for constant in ALL if constant.call is not None]
MEASURED = re.compile(r"\bMeasured\b|\(measured|\b(was|were) measured|\bwere seen\b")
SCRIPT = re.compile(r"\b(?:benchmarks|examples)/[\w/]+(?:\.py)?")


def test_the_page_lists_what_the_code_says():
    check_golden(PAGE, page())


def test_each_stands_beside_a_name_of_its_module():
    calls = sum(is_calibrated(node) for file in sources() for node in ast.walk(tree(file)))

    assert calls == len(CALIBRATED)
    assert {constant.file.relative_to(ROOT).parts[1] for constant in CALIBRATED} == SUBJECTS.keys()


@pytest.mark.parametrize("constant", CALIBRATED, ids=lambda constant: constant.place)
def test_each_says_what_it_is_and_where_it_comes_from(constant):
    assert constant.says
    assert date(2026, 1, 1) < date.fromisoformat(constant.told("date"))
    for script in SCRIPT.findall(constant.told("source")):
        assert (ROOT / script).exists(), f"{constant.place} comes from {script}"


def test_a_number_that_was_measured_is_among_them():
    told = [
        constant.place
        for constant in ALL
        if constant.call is None and MEASURED.search(constant.says) and _is_number(constant)
    ]

    assert told == []


def _is_number(constant):
    return isinstance(constant.value(), int | float | Range)


def test_every_range_begins_with_its_lower_end():
    for file in sources():
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Range":
                ends = [
                    argument.value for argument in node.args if isinstance(argument, ast.Constant)
                ]
                assert ends == sorted(ends), f"{file}:{node.lineno}"
