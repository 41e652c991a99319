"""Trainings that crash, recorded: the report begins with it, and `latest` stays at a run that can be gone on from."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.live_processes import DEADLINE_S, cli

GOOD = "print('trained')"

CRASHING = """
import math

for number in range(2_000_000):
    math.sqrt(number)
raise RuntimeError("no such environment")
"""

WITH_A_DEAD_WORKER = """
import multiprocessing, time

def work():
    raise ValueError("a bad observation")

if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=work)
    worker.start()
    worker.join()
    # As one does who waits for what the worker was to send.
    time.sleep(4)
"""


def rlprof(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        cli(*words), cwd=folder, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )


def test_a_crash_at_the_start_is_told_first_and_does_not_become_the_latest(write, tmp_path):
    write(GOOD, "good.py")
    write(CRASHING, "crashing.py")
    rlprof(tmp_path, "run", "--no-report", "good.py")

    crashed = rlprof(tmp_path, "run", "crashing.py")

    assert crashed.returncode == 1
    _, _, report = crashed.stderr.partition("RuntimeError: no such environment\n")
    first, *_ = report.splitlines()
    assert first.startswith("Crashed after ")
    assert first.endswith(": the program ended with exit code 1.")
    assert "rlprof.step" not in report
    assert "good" in (tmp_path / ".rlprof" / "latest").readlink().name
    assert "crashed: exit code 1" in rlprof(tmp_path, "history", "-f", "markdown").stdout


def test_a_worker_that_died_is_told_though_the_program_ended_well(write, tmp_path):
    write(WITH_A_DEAD_WORKER, "train.py")

    result = rlprof(tmp_path, "run", "-o", "run.rlprof", "train.py")

    assert result.returncode == 0
    _, _, report = result.stderr.partition("ValueError: a bad observation\n")
    first, *_ = report.splitlines()
    assert first.startswith("A worker died: worker ")
    assert "ended with exit code 1" in first
    assert re.search(r"not yet steady 4\.\d s", report)
    assert not re.search(r"(?<!not yet )steady 4", report)
