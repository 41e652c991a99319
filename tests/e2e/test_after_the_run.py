"""Once the training has ended, nothing that goes wrong with the report changes its exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.live_processes import DEADLINE_S, cli

ENDS_WITH_7 = "import sys; sys.exit(7)"

BROKEN_REPORT = """
import rlprof.report.build

def broken(*arguments, **keywords):
    raise ZeroDivisionError("a planted bug")

rlprof.report.build.build_report = broken

from rlprof.cli import main
main()
"""


def test_stderr_that_takes_no_more(write, tmp_path):
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            cli("run", write(ENDS_WITH_7)), cwd=tmp_path, stderr=full, timeout=DEADLINE_S
        )

    assert answer.returncode == 7


def test_stderr_that_is_closed(write, tmp_path):
    command = " ".join(map(str, cli("run", write(ENDS_WITH_7))))

    answer = subprocess.run(["sh", "-c", f"{command} 2>&-"], cwd=tmp_path, timeout=DEADLINE_S)

    assert answer.returncode == 7


def test_a_bug_in_the_report(write, tmp_path):
    answer = subprocess.run(
        [sys.executable, "-c", BROKEN_REPORT, "run", str(write(ENDS_WITH_7))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )

    assert answer.returncode == 7
    assert "a planted bug" in answer.stderr
    assert "a bug in rlprof, not in your program" in answer.stderr
