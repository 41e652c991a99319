"""Trainings that crash, recorded: the report begins with it, and `latest` stays at a run that can be gone on from."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.live_processes import DEADLINE_S, cli

LINUX = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])

remembers_exit_codes = pytest.mark.skipif(
    LINUX < (6, 15),
    reason="needs Linux 6.15, which tells how a process ended after its parent's wait",
)

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


WITH_A_KILLED_WORKER = """
import multiprocessing, os, time

def work(seconds, is_killed):
    time.sleep(seconds)
    if is_killed:
        os.kill(os.getpid(), 9)

if __name__ == "__main__":
    workers = [multiprocessing.Process(target=work, args=args) for args in ((2, True), (5, False))]
    for worker in workers:
        worker.start()
    # It is asleep in the wait for the first, and so takes the exit code before anybody else can ask.
    for worker in workers:
        worker.join()
"""

WITH_A_BROKEN_POOL = """
import os, time
from concurrent.futures import ProcessPoolExecutor

def work(number):
    time.sleep(2)
    if number == 1:
        os.kill(os.getpid(), 9)
    time.sleep(60)

if __name__ == "__main__":
    with ProcessPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
"""

WITH_CHILDREN_OF_ALL_SORTS = """
import multiprocessing, os, time

def square(number):
    time.sleep(0.05)
    return number * number

if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        pool.map(square, range(20))
    os.spawnvp(os.P_WAIT, "false", ["false"])
    pid = os.spawnvp(os.P_NOWAIT, "sleep", ["sleep", "60"])
    time.sleep(2)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    pid = os.fork()
    if not pid:
        os._exit(3)
    os.waitpid(pid, 0)
    time.sleep(3)
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
    told = " ".join(report.split())  # Lines break where they are full.
    assert re.search(r"not yet steady [\d.]+ m?s", told), told
    assert not re.search(r"(?<!not yet )steady \d", told)


@remembers_exit_codes
def test_a_worker_that_is_killed_is_told_though_its_parent_waits_for_it(write, tmp_path):
    write(WITH_A_KILLED_WORKER, "train.py")

    result = rlprof(tmp_path, "run", "-o", "run.rlprof", "train.py")

    assert result.returncode == 0
    assert re.search(
        r"^A worker died: worker \d+ was killed by SIGKILL, after ", result.stderr, re.M
    )


@remembers_exit_codes
def test_the_worker_that_broke_its_pool_is_told(write, tmp_path):
    write(WITH_A_BROKEN_POOL, "train.py")

    result = rlprof(tmp_path, "run", "-o", "run.rlprof", "train.py")

    assert result.returncode == 1
    _, _, report = result.stderr.partition("Crashed after ")
    told = " ".join(report.split("\n\n")[0].split())
    assert re.search(r"exit code 1, and worker \d+ was killed by SIGKILL, after ", told)


def test_no_worker_has_died_where_children_are_shut_down_or_are_other_programs(write, tmp_path):
    write(WITH_CHILDREN_OF_ALL_SORTS, "train.py")

    result = rlprof(tmp_path, "run", "-o", "run.rlprof", "train.py")

    assert result.returncode == 0
    assert " died" not in result.stderr
