"""``rlprof overhead``: real programs with rlprof and without. Figures are never asserted: they are the machine's."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from rlprof.errors import EXIT_NOT_MEASURED
from tests.checked_repository import waiting
from tests.live_processes import DEADLINE_S, cli, processes_with, wait_until

# Each step waits, so that its rate hardly depends on what else the machine does.
PRINTING = """
import sys, time

with open(sys.argv[1], "a") as notes:
    notes.write(("agent" if "rlprof_agent" in sys.modules else "bare") + "\\n")
for step in range(1, 301):
    time.sleep(0.004)
    print(f"global_step={step}", flush=True)
"""


class Overhead:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.temporary = folder / "temporary"
        self.folder.mkdir()
        self.temporary.mkdir()

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            cli("overhead", *arguments),
            cwd=self.folder,
            env={**os.environ, "TMPDIR": str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        running = self.start(*arguments)
        try:
            out, err = running.communicate(timeout=DEADLINE_S)
        finally:
            running.kill()
            running.wait()
        assert list(self.temporary.iterdir()) == []
        return subprocess.CompletedProcess(running.args, running.returncode, out, err)


@pytest.fixture
def overhead(tmp_path: Path) -> Overhead:
    return Overhead(tmp_path)


def test_the_cost_of_a_counted_program_is_told(overhead):
    (overhead.folder / "train.py").write_text(waiting(steps=300) + "print('trained')\n")

    answer = overhead.run("--pairs", "2", "--format", "json", "train.py")

    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    assert (document["basis"], document["unit"], document["source"]) == (
        "steps",
        "steps",
        "rlprof.step",
    )
    assert len(document["pairs"]) == 2
    assert all(pair["bare"] > 0 and pair["recorded"] > 0 for pair in document["pairs"])
    assert document["own_cpu"]["cores"] > 0
    assert "pair 2 of 2" in answer.stderr
    assert not (overhead.folder / ".rlprof").exists()


def test_where_nothing_counts_steps_whole_runs_are_timed(overhead):
    (overhead.folder / "train.py").write_text("import time\ntime.sleep(0.2)\n")

    answer = overhead.run("--pairs", "1", "train.py")

    assert answer.returncode == 0, answer.stderr
    assert re.match(r"rlprof costs train.py .* of its speed over the whole run", answer.stdout)
    assert "nothing counted its steps" in answer.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--sps-pattern", r"global_step=(?P<steps>\d+)"),
        pytest.param(("--wall",), marks=pytest.mark.slow),
    ],
)
def test_nothing_of_rlprof_is_in_a_bare_run(overhead, tmp_path, options):
    (overhead.folder / "train.py").write_text(PRINTING)

    answer = overhead.run("--pairs", "2", *options, "train.py", tmp_path / "notes")

    assert answer.returncode == 0, answer.stderr
    # The second pair is in reverse order.
    assert (tmp_path / "notes").read_text().split() == ["bare", "agent", "agent", "bare"]


@pytest.mark.parametrize("options", [(), ("--wall",)])
def test_a_program_that_fails_is_shown(overhead, options):
    (overhead.folder / "train.py").write_text("raise SystemExit('no such environment')\n")

    answer = overhead.run("--pairs", "1", *options, "train.py")

    assert answer.returncode == EXIT_NOT_MEASURED
    assert "no such environment" in answer.stderr
    assert "rlprof explain program-failed" in answer.stderr
    assert answer.stdout == ""


def test_a_program_that_takes_too_long_is_ended(overhead, mark):
    (overhead.folder / "train.py").write_text("import time\ntime.sleep(600)\n")

    answer = overhead.run("--wall", "--timeout", "1", "train.py", mark)

    assert answer.returncode == EXIT_NOT_MEASURED
    assert "rlprof explain program-timed-out" in answer.stderr
    assert processes_with(mark) == []


def test_ctrl_c_tells_what_was_measured_and_leaves_nothing(overhead, mark, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    # The first two runs end, and the third does not.
    (overhead.folder / "train.py").write_text(
        "import pathlib, sys, time\n"
        "runs = [pathlib.Path(it) for it in sys.argv[2:]]\n"
        "left = [it for it in runs if not it.exists()]\n"
        "left[0].touch() if left else (print('endless'), time.sleep(600))\n"
    )
    running = overhead.start("--wall", "--pairs", "3", "train.py", mark, first, second)
    assert running.stderr is not None
    for line in running.stderr:
        if "pair 2 of 3" in line:
            break

    wait_until(lambda: processes_with(mark) != [running.pid], "the third run")
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=DEADLINE_S)

    assert running.returncode == 128 + signal.SIGINT, err
    assert "(1 pair)" in out
    assert processes_with(mark) == []
    assert list(overhead.temporary.iterdir()) == []
