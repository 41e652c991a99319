"""A bug in the recording costs a part of it, at worst all of it, and never the training."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from rlprof.runfile.reader import read_run
from tests.live_processes import DEADLINE_S, children_named

WITH_A_BUG = """
import sys
from rlprof.recording import agents, attaching, census, gauges, storing, tracked
from rlprof.recording.program import escort, output_tap

def broken(*arguments, **keywords):
    raise ZeroDivisionError("a planted bug")

for owner, name in [{places}]:
    setattr(owner, name, broken)

from rlprof.cli.commands import main
main()
"""

TRAIN = """
import signal, subprocess, sys, time

got = []
signal.signal(signal.SIGTERM, lambda *_: got.append("TERM"))
end = time.monotonic() + 0.6
while time.monotonic() < end:
    sum(range(1000))
subprocess.run([sys.executable, "-c", "print('child')"], check=True)
print("ready", flush=True)
while not got:
    time.sleep(0.005)
print("trained", got, flush=True)
sys.exit(5)
"""


@pytest.mark.parametrize(
    "place",
    [
        "census.Census, 'scan'",
        "census.Census, 'announced'",
        "attaching.Attacher, 'read_sampler'",
        "tracked.TrackedProcess, 'close_window'",
        "gauges.GaugeReader, 'read'",
        "agents.AgentServer, 'accept'",
    ],
)
def test_a_bug_in_one_part_costs_that_part(write, tmp_path, place):
    with_a_bug = tmp_path / "with_a_bug.py"
    with_a_bug.write_text(WITH_A_BUG.format(places=f"({place})"))
    run_file = tmp_path / "run.rlprof"

    answer = subprocess.run(
        [sys.executable, with_a_bug, "run", "--no-report", "-o", run_file, write(STEPS)],
        cwd=tmp_path,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert (answer.returncode, answer.stdout) == (5, b"child\ntrained\n")
    recording = read_run(run_file)
    assert recording.run.complete
    told = [note.text for note in recording.notes if note.slug == "recorder-part-failed"]
    assert any("ZeroDivisionError: a planted bug" in text for text in told)


STEPS = """
import subprocess, sys, time

subprocess.run([sys.executable, "-c", "print('child')"], check=True)
end = time.monotonic() + 0.6
while time.monotonic() < end:
    sum(range(1000))
print("trained")
sys.exit(5)
"""


@pytest.mark.parametrize(
    ("place", "options"),
    [
        ("storing.WindowStore, 'close_window'", []),
        ("storing.WindowStore, 'close_window'", ["--sps-pattern", r"sps (\d+)"]),
        ("storing.WindowStore, 'finish'", []),
    ],
)
def test_the_training_does_not_notice(write, tmp_path, place, options):
    script = write(TRAIN)
    run_file = tmp_path / "run.rlprof"
    arguments = ["run", "--no-report", "-o", str(run_file), *options, str(script)]

    with subprocess.Popen(
        [sys.executable, "-c", WITH_A_BUG.format(places=f"({place})"), *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        before = [running.stdout.readline() for _ in range(2)]
        if "finish" not in place:
            assert children_named(running.pid, "austin") == []
        os.kill(running.pid, signal.SIGTERM)
        out, err = running.communicate(timeout=DEADLINE_S)

    assert before == [b"child\n", b"ready\n"]
    assert (running.returncode, out) == (5, b"trained ['TERM']\n")
    complaint = err.decode()
    assert "ZeroDivisionError: a planted bug" in complaint
    assert "The training was not touched" in complaint
    assert "rlprof explain recorder-bug" in complaint
    assert not read_run(run_file).run.complete


@pytest.mark.parametrize(
    "second", ["attaching.Attacher, 'kill_all'", "storing.WindowStore, 'fail'"]
)
def test_a_second_bug_while_the_first_is_dealt_with(write, tmp_path, second):
    with_bugs = WITH_A_BUG.format(places=f"(storing.WindowStore, 'close_window'), ({second})")
    words = ["run", "--no-report", "-o", str(tmp_path / "run.rlprof"), str(write(STEPS))]

    answer = subprocess.run(
        [sys.executable, "-c", with_bugs, *words],
        cwd=tmp_path,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert (answer.returncode, answer.stdout) == (5, b"child\ntrained\n")


QUIET = """
import sys, time

print("sps 7", flush=True)
time.sleep(0.2)
print("sps 8")
sys.exit(5)
"""


@pytest.mark.parametrize(
    "place",
    [
        "output_tap.OutputTap, '_match'",
        "output_tap.OutputTap, 'pump'",
        "escort.Escort, 'drain'",
    ],
)
def test_the_target_keeps_its_exit_code_when_its_escort_has_a_bug(write, tmp_path, place):
    script = write(QUIET)
    run_file = tmp_path / "run.rlprof"
    arguments = ["--no-report", "-o", str(run_file), "--sps-pattern", r"sps (\d+)", str(script)]

    answer = subprocess.run(
        [sys.executable, "-c", WITH_A_BUG.format(places=f"({place})"), "run", *arguments],
        cwd=tmp_path,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert answer.returncode == 5
    recording = read_run(run_file)
    assert b"a planted bug" in answer.stderr or any(
        "a planted bug" in note.text for note in recording.notes
    )
