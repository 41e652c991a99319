"""A bug in the recording ends the recording, never the training."""

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
from rlprof.recording import agents, attaching, census, escort, output_tap, storing

def broken(*arguments, **keywords):
    raise ZeroDivisionError("a planted bug")

owner, name = {place}
setattr(owner, name, broken)

from rlprof.cli import main
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
        "storing.WindowStore, 'close_window'",
        "storing.WindowStore, 'finish'",
    ],
)
@pytest.mark.parametrize("options", [[], ["--sps-pattern", r"sps (\d+)"]], ids=["", "pattern"])
def test_the_training_does_not_notice(write, tmp_path, place, options):
    script = write(TRAIN)
    run_file = tmp_path / "run.rlprof"
    arguments = ["run", "--no-report", "-o", str(run_file), *options, str(script)]

    with subprocess.Popen(
        [sys.executable, "-c", WITH_A_BUG.format(place=place), *arguments],
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
        [sys.executable, "-c", WITH_A_BUG.format(place=place), "run", *arguments],
        cwd=tmp_path,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert answer.returncode == 5
    assert b"a planted bug" in answer.stderr
    assert not read_run(run_file).run.complete
