"""What ``rlprof check`` leaves behind, however it ends: nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rlprof.gate.worktrees.check_folder import SETTLED_S
from tests.checked_repository import DEADLINE_S, NOT_MEASURED, PASS
from tests.live_processes import processes_with, wait_until


def hanging(mark: str, ready: Path) -> str:
    """A program with a child that has fled into a session of its own; neither ends, nor cares for SIGTERM."""
    return f"""
        import os, pathlib, signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{mark}"],
                         start_new_session=True)
        pathlib.Path({str(ready)!r}).touch()
        time.sleep(600)
    """


def stopped_by(signum: int, running: subprocess.Popen[str], ready: Path, what: str) -> str:
    """What a check printed to stderr that got the signal as soon as ``ready`` was there."""
    try:
        wait_until(ready.exists, what)
        running.send_signal(signum)
        _, err = running.communicate(timeout=DEADLINE_S)
    finally:
        running.kill()
        running.wait()
    return err


def test_a_run_that_takes_too_long_is_ended_whole(repository, mark, tmp_path):
    repository.commit(hanging(mark, tmp_path / "ready"))

    answer = repository.check("--base", "main", "--timeout", "3", "train.py", mark)

    assert answer.fails_with(NOT_MEASURED, "program-timed-out")
    assert processes_with(mark) == []
    repository.assert_tidy()


@pytest.mark.parametrize(
    "signum", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_signal_ends_everything(repository, mark, tmp_path, signum):
    ready = tmp_path / "ready"
    repository.commit(hanging(mark, ready))

    running = repository.start("--base", "main", "train.py", mark)
    err = stopped_by(signum, running, ready, "the program runs")

    assert running.returncode == 128 + signum
    assert "stopped" in err
    assert processes_with(mark) == []
    repository.assert_tidy()


def test_what_was_measured_before_a_signal_is_told(repository, mark, tmp_path):
    ready, runs, result = (tmp_path / name for name in ("ready", "runs", "check.json"))
    repository.commit(f"""
        import pathlib, time
        import rlprof
        with open({str(runs)!r}, "a") as file:
            file.write("x")
        rlprof.step(10)
        if len(open({str(runs)!r}).read()) == 4:
            pathlib.Path({str(ready)!r}).touch()
            time.sleep(600)
    """)

    running = repository.start(
        "--base", "main", "--counters-only", "--json", result, "train.py", mark
    )
    err = stopped_by(signal.SIGINT, running, ready, "the fourth run is under way")

    assert running.returncode == 128 + signal.SIGINT
    assert "stopped" in err
    told = json.loads(result.read_text())
    assert (told["verdict"], told["failure"]["slug"]) == ("could-not-measure", "check-stopped")
    assert "SIGINT ended the check after 3 runs" in told["text"]
    assert [run["side"] for run in told["runs"]] == ["base", "head", "head"]
    repository.assert_tidy()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_git_checks_the_base_out(repository, mark, tmp_path, signum):
    """The files are written by a child of ``git worktree add``, which must not outlive it."""
    ready = tmp_path / "ready"
    repository.commit("*.bin filter=slow\n", ".gitattributes")
    repository.commit("weights\n", "model.bin")
    repository.commit("import rlprof\nrlprof.step(10)\n")
    wait = f"{sys.executable} -S -c 'import time; time.sleep(600)' {mark}"
    repository.git("config", "filter.slow.smudge", f"touch {ready}; {wait}")

    running = repository.start("--base", "main", "--counters-only", "train.py")
    err = stopped_by(signum, running, ready, "the base is being checked out")

    assert running.returncode == 128 + signum, err
    assert processes_with(mark) == []
    assert processes_with(str(repository.temporary)) == []
    assert not (repository.folder / ".git/index.lock").exists()
    repository.assert_tidy()


def test_a_check_that_is_killed_leaves_no_training_behind(repository, mark, tmp_path):
    ready = tmp_path / "ready"
    repository.commit(f"""
        import pathlib, time
        pathlib.Path({str(ready)!r}).touch()
        time.sleep(600)
    """)

    running = repository.start("--base", "main", "train.py", mark)
    try:
        wait_until(ready.exists, "the program runs")
    finally:
        running.kill()
        running.communicate(timeout=DEADLINE_S)

    wait_until(lambda: processes_with(mark) == [], "the training has ended")
    temporary = str(repository.temporary)
    wait_until(lambda: processes_with(temporary) == [], "its recorder has ended")

    [left] = repository.temporary.iterdir()
    long_ago = time.time() - 2 * SETTLED_S
    os.utime(left, (long_ago, long_ago))
    repository.commit("import rlprof\nrlprof.step(10)\n")
    answer = repository.check("--base", "main", "--counters-only", "train.py")

    assert answer.code == PASS, answer.err
    repository.assert_tidy()


def test_a_check_that_is_killed_leaves_no_stubborn_training_behind(repository, mark, tmp_path):
    ready = tmp_path / "ready"
    repository.commit(hanging(mark, ready))

    running = repository.start("--base", "main", "train.py", mark)
    try:
        wait_until(ready.exists, "the program runs")
        assert processes_with(mark) != []
    finally:
        running.kill()
        running.communicate(timeout=DEADLINE_S)

    wait_until(lambda: processes_with(mark) == [], "the training has been ended")
    temporary = str(repository.temporary)
    wait_until(lambda: processes_with(temporary) == [], "its recorder has ended")


def test_what_a_good_run_leaves_behind_is_ended(repository, mark):
    repository.commit(f"""
        import subprocess, sys
        import rlprof
        subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)", "{mark}"],
                         start_new_session=True)
        rlprof.step(10)
    """)

    answer = repository.check("--base", "main", "--counters-only", "train.py")

    assert answer.code == PASS, answer.err
    assert "left 4 processes behind" in answer.out
    assert processes_with(mark) == []
