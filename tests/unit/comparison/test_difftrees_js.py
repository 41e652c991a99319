"""What the page of a comparison computes before it draws, under node's own test runner."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rlprof import wording
from rlprof.comparison import words

TESTS = Path(__file__).with_name("difftrees.test.mjs")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node: apt-get install nodejs")
def test_trees_and_words_under_node() -> None:
    outcome = subprocess.run(
        ["node", "--test", str(TESTS)], capture_output=True, text=True, timeout=60, check=False
    )

    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_the_words_are_those_of_the_other_formats() -> None:
    """The same figures as in ``difftrees.test.mjs``."""
    durations = [words.small_duration(us) for us in (0, 0.0474, 0.999, 2.061, 850, 12_500, 3.2e6)]
    pairs = [(100, 19), (100, 104.2), (100, 100.01), (0, 1), (1, 0), (0, 0), (10, 61)]

    assert [wording.unglued(it) for it in durations] == [
        "0", "47.4 ns", "999 ns", "2.06 µs", "850 µs", "12.5 ms", "3.2 s",
    ]  # fmt: skip
    assert [wording.unglued(words.change(base, new)) for base, new in pairs] == [
        "−81 %", "+4.2 %", "±0", "new", "gone", "–", "6.1×",
    ]  # fmt: skip
