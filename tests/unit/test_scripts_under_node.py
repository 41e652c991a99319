"""The scripts' pure parts, under node's own test runner: every ``*.test.mjs`` of the suite."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SUITE = Path(__file__).parents[1]
SCRIPTS = sorted(SUITE.rglob("*.test.mjs"))


def test_there_are_scripts_to_run():
    assert SCRIPTS


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node: apt-get install nodejs")
@pytest.mark.parametrize(
    "script", SCRIPTS, ids=lambda script: script.name.removesuffix(".test.mjs")
)
def test_under_node(script):
    outcome = subprocess.run(
        ["node", "--test", str(script)], capture_output=True, text=True, timeout=100, check=False
    )

    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
