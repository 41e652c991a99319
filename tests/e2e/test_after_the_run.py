"""Once the training has ended, nothing that goes wrong with the report changes its exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.live_processes import DEADLINE_S, cli

ENDS_WITH_7 = "import sys; sys.exit(7)"

BROKEN_REPORT = """
import rlprof.report.build

def broken(*arguments, **keywords):
    raise {error}

rlprof.report.build.build_report = broken

from rlprof.cli.commands import main
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
    program = BROKEN_REPORT.format(error="ZeroDivisionError('a planted bug')")

    answer = subprocess.run(
        [sys.executable, "-c", program, "run", write(ENDS_WITH_7)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )

    assert answer.returncode == 7
    assert "a planted bug" in answer.stderr
    assert "a bug in rlprof, not in your program" in answer.stderr


@pytest.mark.parametrize(
    ("options", "told"), [([], "rlprof: no report: no memory is left"), (["--no-report"], "")]
)
@pytest.mark.parametrize("error", ["MemoryError", "SystemError('error return without exception')"])
def test_no_memory_for_the_report_is_no_bug(write, tmp_path, options, told, error):
    program = BROKEN_REPORT.format(error=error)

    answer = subprocess.run(
        [sys.executable, "-c", program, "run", *options, write(ENDS_WITH_7)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )

    assert answer.returncode == 7
    assert told in answer.stderr
    assert bool(told) == bool(answer.stderr)
    assert "Traceback" not in answer.stderr
