"""Once the training has ended, nothing that goes wrong with the report changes its exit code."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.live_processes import DEADLINE_S, cli, wait_until

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


@pytest.mark.parametrize(
    ("error", "told", "has_traceback"),
    [
        ("ZeroDivisionError('a planted bug')", "a bug in rlprof, not in your program", True),
        (
            "ModuleNotFoundError('No module named rlprof')",
            "was rlprof replaced while it recorded?",
            False,
        ),
    ],
    ids=["a bug", "rlprof replaced meanwhile"],
)
def test_a_report_that_fails(write, tmp_path, error, told, has_traceback):
    answer = subprocess.run(
        [sys.executable, "-c", BROKEN_REPORT.format(error=error), "run", write(ENDS_WITH_7)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )

    assert answer.returncode == 7
    assert told in answer.stderr
    assert ("Traceback" in answer.stderr) == has_traceback


NO_MEMORY = "rlprof: no report: no memory is left"


@pytest.mark.parametrize(
    ("error", "options", "told"),
    [
        ("MemoryError", [], NO_MEMORY),
        ("SystemError('error return without exception')", [], NO_MEMORY),
        ("MemoryError", ["--no-report"], ""),
    ],
)
def test_no_memory_for_the_report_is_no_bug(write, tmp_path, error, options, told):
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


SAYS_WHEN_IT_ENDS = """
import os, sys
print(os.getpid(), flush=True)
sys.exit(7)
"""


@pytest.mark.parametrize(
    ("option", "signum"),
    [("--report", signal.SIGTERM), ("--report", signal.SIGINT), ("--no-report", signal.SIGUSR1)],
)
def test_a_signal_that_comes_after_the_end(write, tmp_path, option, signum):
    """At whatever moment: between the end of the recording and that of rlprof's own Python."""
    script = write(SAYS_WHEN_IT_ENDS)
    for late_s in (0.02, 0.05, 0.1, 0.3):
        run = subprocess.Popen(
            cli("run", option, script),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        pid = int(run.stdout.readline())
        wait_until(lambda pid=pid: not Path(f"/proc/{pid}").exists(), "the end of the program")
        # Not a wait for something to have happened: each moment is another case.
        time.sleep(late_s)
        run.send_signal(signum)
        run.communicate(timeout=DEADLINE_S)

        assert run.returncode == 7, late_s
