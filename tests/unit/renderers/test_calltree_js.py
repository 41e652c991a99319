"""From a run's self times to the tree that is drawn, under node's own test runner."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).with_name("calltree.test.mjs")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node: apt-get install nodejs")
def test_merging_grouping_inverting_and_rows_under_node() -> None:
    outcome = subprocess.run(
        ["node", "--test", str(TESTS)], capture_output=True, text=True, timeout=100, check=False
    )

    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
