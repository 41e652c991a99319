"""Every fix, whoever adds it: it has a name of its own, findings that there are, a line in its page, and tests."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rlprof.discovery import discover_detectors
from rlprof.fixes.base import CannotFixError, Case, Fix
from rlprof.fixes.discovered import fixes
from tests.fix_factory import a_case

ROOT = Path(__file__).parent.parent.parent
FIXES = fixes()
DETECTORS = {detector.id for detector in discover_detectors()}

all_fixes = pytest.mark.parametrize("fix", FIXES, ids=lambda fix: fix.id)


def test_ids_are_of_one_fix_and_name_its_file():
    files = {path.stem for path in (ROOT / "rlprof/fixes/rewrites").glob("[a-z]*.py")}

    assert {fix.id.replace("-", "_") for fix in FIXES} == files
    assert len(FIXES) == len(files)


@all_fixes
def test_it_is_for_findings_that_there_are(fix: Fix):
    page = (ROOT / "docs/fix.md").read_text()

    assert fix.findings <= DETECTORS
    assert all(f"| `{finding}` |" in page for finding in fix.findings)


@all_fixes
def test_it_has_tests(fix: Fix):
    assert (ROOT / f"tests/unit/fixes/test_{fix.id.replace('-', '_')}.py").is_file()


@all_fixes
@pytest.mark.parametrize(
    "case",
    [
        a_case("", 1),
        a_case("def (", 1),
        a_case("x = 1\x0c\n", 1),
        a_case("pass\r", 1),
        a_case("pass\n"),
        a_case("pass\n", 99),
        a_case("f(" * 200 + ")" * 200, 1),
        a_case("import torch\nx = torch.tensor(\n", 2),
        a_case("# only\n", 1),
    ],
    ids=range(9),
)
def test_what_it_cannot_read_is_refused_or_stays_python(fix: Fix, case: Case):
    try:
        texts = fix.rewrite(case).texts
    except CannotFixError:
        return

    assert all(ast.parse(text) for text in texts.values())
