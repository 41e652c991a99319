"""Every program of ``benchmarks/accuracy.py`` is declared, and every declared program is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "benchmarks" / "programs"
EXPECTED = tomllib.loads((PROGRAMS / "expected.toml").read_text())
KEYS = {"finding", "allowed", "worth_nothing", "measured_by"}


@pytest.mark.parametrize("kind", ["pairs", "innocents"])
def test_programs_and_expectations_are_the_same(kind):
    programs = {path.stem for path in (PROGRAMS / kind).glob("*.py")}

    assert set(EXPECTED[kind]) == programs


@pytest.mark.parametrize("name", sorted(EXPECTED["pairs"]))
def test_a_pair_says_what_should_be_found(name):
    row = EXPECTED["pairs"][name]

    assert set(row) <= KEYS
    assert row["finding"] not in row["allowed"]
    assert row.get("measured_by", "wall") == "wall"


def test_a_program_tells_its_pace_on_its_last_line():
    command = [sys.executable, PROGRAMS / "pairs" / "gc_pressure.py", "--seconds", "0.4"]

    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith('{"sps": ')
