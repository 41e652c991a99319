"""The pure part of the flamegraph's script, under node's own test runner."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).with_name("layout.test.mjs")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node: apt-get install nodejs")
def test_layout_search_and_words_under_node() -> None:
    outcome = subprocess.run(
        ["node", "--test", str(TESTS)], capture_output=True, text=True, timeout=60, check=False
    )

    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
