"""The pure parts of the page's scripts, under node's own test runner."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SUBJECTS = ("viewstate", "timescale", "figures", "functions")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node: apt-get install nodejs")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_under_node(subject: str) -> None:
    script = Path(__file__).with_name(f"{subject}.test.mjs")

    outcome = subprocess.run(
        ["node", "--test", str(script)], capture_output=True, text=True, timeout=60, check=False
    )

    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
