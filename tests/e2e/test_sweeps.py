"""Many runs at once in one folder: each trains, each is recorded into a file of its own."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rlprof.runfile.reader import read_run
from tests.live_processes import DEADLINE_S, cli

RUNS = 40

STARTS_AT_ONCE = """
import os, subprocess, sys

count, *command = sys.argv[1:]
reading, writing = os.pipe()
runs = [
    subprocess.Popen(
        ["sh", "-c", 'read _ <&%d; exec "$@"' % reading, "sh", *command, str(seed)],
        pass_fds=[reading], stderr=subprocess.PIPE,
    )
    for seed in range(int(count))
]
os.close(reading)
os.close(writing)  # All of them go on in this moment.
for run in runs:
    _, err = run.communicate()
    sys.stderr.buffer.write(err)
sys.exit(max(run.returncode for run in runs))
"""

TRAIN = """
import pathlib, sys

pathlib.Path("trained-" + sys.argv[1]).write_text("done")
"""


TRAIN_TOGETHER = """
import pathlib, sys, time

pathlib.Path("trained-" + sys.argv[1]).write_text("done")
until = time.monotonic() + 60
while len(list(pathlib.Path(".").glob("trained-*"))) < 4 and time.monotonic() < until:
    time.sleep(0.01)
"""
"""Ends when all four have begun: ``--force`` replaces the recording of one that has ended before."""


# All at once they take the machine for half a minute, and for longer where it has other work.
@pytest.mark.timeout(400)
@pytest.mark.alone
def test_all_runs_of_a_sweep_train_and_are_recorded(write, tmp_path):
    script = write(TRAIN)

    answer = subprocess.run(
        [sys.executable, "-c", STARTS_AT_ONCE, str(RUNS), *cli("run", "--no-report", script)],
        cwd=tmp_path,
        capture_output=True,
        timeout=6 * DEADLINE_S,
        check=False,
    )

    assert (answer.returncode, answer.stderr) == (0, b"")
    assert len(list(tmp_path.glob("trained-*"))) == RUNS
    files = sorted((tmp_path / ".rlprof").glob("*-train*.rlprof"))
    recordings = [read_run(file) for file in files]
    assert sorted(int(each.run.command[-1]) for each in recordings) == list(range(RUNS))
    assert all(each.run.complete for each in recordings)
    assert read_run(tmp_path / ".rlprof" / "latest").run.complete
    assert (
        len(list((tmp_path / ".rlprof").iterdir())) == RUNS + 3
    )  # And latest, .gitignore and CACHEDIR.TAG.


def test_recordings_are_for_their_user_alone(write, tmp_path):
    subprocess.run(
        ["sh", "-c", 'umask 0; exec "$@"', "sh", *cli("run", write("print(1)"))],
        cwd=tmp_path,
        capture_output=True,
        timeout=DEADLINE_S,
        check=True,
    )

    folder = tmp_path / ".rlprof"
    (run_file,) = folder.glob("*.rlprof")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(run_file.stat().st_mode) == 0o600


def test_two_runs_into_one_named_file_have_one_each(start, write, tmp_path):
    script = write("""
        import sys
        print("ready", flush=True)
        sys.stdin.readline()
    """)
    named = tmp_path / "same.rlprof"
    first = start(script, run_file=named, options=["--force"], stdin=subprocess.PIPE)
    first.wait_line("ready")

    second = start(script, run_file=named, options=["--force"]).finish()
    first.popen.stdin.close()
    first.popen.stdin = None

    assert (first.finish().code, second.code) == (0, 0)
    assert read_run(named).run.complete
    assert read_run(named.with_stem("same-2")).run.complete


@pytest.mark.timeout(200)
def test_runs_that_begin_at_once_with_one_name_have_a_recording_each(write, tmp_path):
    options = ("--no-report", "--force", "-o", "same.rlprof")

    answer = subprocess.run(
        [sys.executable, "-c", STARTS_AT_ONCE, "4", *cli("run", *options, write(TRAIN_TOGETHER))],
        cwd=tmp_path,
        capture_output=True,
        timeout=3 * DEADLINE_S,
        check=False,
    )

    assert answer.returncode == 0
    # Three of four are told where theirs is, as they are not reported.
    told = answer.stderr.decode().splitlines()
    assert all("same.rlprof is recorded into by another run" in line for line in told)
    recordings = [read_run(file) for file in tmp_path.glob("same*.rlprof")]
    assert len(told) == len(recordings) - 1
    assert sorted(each.run.command[-1] for each in recordings) == ["0", "1", "2", "3"]
    assert all(each.run.complete for each in recordings)
    assert len(list(tmp_path.glob("same*"))) == 4  # No journals are left.


def test_what_cannot_be_recorded_trains(write, tmp_path):
    script = write("import sys; print(sys.argv[1]); sys.exit(7)")
    blocked = tmp_path / ".rlprof"
    blocked.write_text("no folder")

    answer = subprocess.run(
        cli("run", script, "seed-3"),
        cwd=tmp_path,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert (answer.returncode, answer.stdout) == (7, b"seed-3\n")
    assert b"not recorded" in answer.stderr
    assert b"The training runs without rlprof" in answer.stderr
    assert blocked.read_text() == "no folder"


def test_a_recorder_that_cannot_begin_trains(write, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text(
        "from rlprof.recording import recorder\n"
        "def find_gpus(environment):\n    raise ZeroDivisionError('a planted bug')\n"
        "recorder.find_gpus = find_gpus\n"
        "from rlprof.cli.commands import main\nmain()\n"
    )

    answer = subprocess.run(
        [sys.executable, broken, "run", write("print('trained')")],
        cwd=tmp_path,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert (answer.returncode, answer.stdout) == (0, b"trained\n")
    assert b"a planted bug" in answer.stderr
    assert not list(Path(tmp_path / ".rlprof").glob("*.rlprof"))


HIDDEN = ("typer", "rich", "sqlite3", "pydantic", "typing_extensions", "email")
"""Modules that rlprof imports, sooner or later."""


@pytest.mark.parametrize("fault", ["pass", "raise SystemExit(3)"])
@pytest.mark.parametrize("by", ["PYTHONPATH", "sitecustomize"])
def test_a_module_path_that_hides_what_rlprof_needs_is_the_targets_alone(
    write, tmp_path, fault, by
):
    hiding = tmp_path / "old"
    hiding.mkdir()
    for name in HIDDEN:
        (hiding / f"{name}.py").write_text(fault)
    if by == "sitecustomize":
        imports = [f"try: import {name}\nexcept BaseException: pass\n" for name in HIDDEN]
        (hiding / "sitecustomize.py").write_text("".join(imports))
    script = write("import importlib.util; print(importlib.util.find_spec('typer').origin)")

    answer = subprocess.run(
        cli("run", "-o", "run.rlprof", script),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(hiding)},
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert (answer.returncode, answer.stdout) == (0, f"{hiding / 'typer'}.py\n".encode())
    assert read_run(tmp_path / "run.rlprof").run.complete
