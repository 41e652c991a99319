"""``rlprof scale`` on a real program with worker processes; ``rlprof history`` on what it left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from xml.etree import ElementTree

import pytest

from tests.live_processes import DEADLINE_S, cli

# Each step waits 4 ms, so that workers add up whatever else the machine does.
WAITING = """
import multiprocessing, sys, time
import rlprof

def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.004)
        rlprof.step()

if __name__ == "__main__":
    workers = int(sys.argv[1])
    if workers == 3:
        sys.exit(7)
    multiprocessing.set_start_method("fork")
    processes = [multiprocessing.Process(target=work, args=(2.5,)) for _ in range(workers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    print("trained", workers)
"""

READY_AND_WAIT = """
import time
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.alone
def test_the_ladder_finds_that_waiting_workers_add_up(write, tmp_path):
    script = write(WAITING)

    answer = subprocess.run(
        cli(
            "scale",
            "--workers",
            "1,2,3,4",
            "-o",
            "s.json",
            "-o",
            "s.svg",
            script,
            "{}",
            "--key=hunter2",
        ),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    history = subprocess.run(
        cli("history", "--format", "json"), cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines() == ["trained 1", "trained 2", "trained 4"]
    document = json.loads((tmp_path / "s.json").read_text())
    assert [rung["workers"] for rung in document["rungs"]] == [1, 2, 4]
    assert document["best"]["workers"] == 4
    assert 1.5 < document["rungs"][-1]["speed_up"] < 8
    assert document["fits"]["usl"] is not None
    # A busy machine adds remarks of its own, and flattens the ladder.
    assert "run-failed" in {note["slug"] for note in document["notes"]}
    assert "exit code 7" in answer.stderr
    ElementTree.fromstring((tmp_path / "s.svg").read_text())
    assert document["command"][-2:] == ["{}", "--key=[redacted]"]
    assert "hunter2" not in (tmp_path / "s.svg").read_text() + history.stdout
    runs = json.loads(history.stdout)["runs"]
    assert [run["label"] for run in runs] == [f"workers={n}" for n in (1, 2, 3, 4)]
    assert runs[3]["gain_over_first"]["times"] > 1.5


SAYS_GOODBYE = READY_AND_WAIT.replace(
    "time.sleep(600)",
    """
try:
    time.sleep(600)
except KeyboardInterrupt:
    print("bye")
""",
)


def test_ctrl_c_on_a_terminal_stops_the_ladder(write, terminal):
    """The program gets it, and ends as one that is done."""
    session = terminal(cli("scale", "--workers", "1,2", write(SAYS_GOODBYE), "{}"))
    session.read_until(b"ready")

    session.type(b"\x03")
    code = session.finish()

    assert code == 128 + signal.SIGINT
    assert b"The ladder was ended early" in session.shown
    assert b"2 workers" not in session.shown


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_stopping_a_run_stops_the_ladder(write, tmp_path, signum):
    script = write(READY_AND_WAIT)
    ladder = subprocess.Popen(
        cli("scale", "--workers", "1,2", script, "{}"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert ladder.stdout is not None
        assert ladder.stdout.readline() == b"ready\n"

        os.kill(ladder.pid, signum)
        _, err = ladder.communicate(timeout=DEADLINE_S)
    finally:
        ladder.kill()
        ladder.wait()

    assert ladder.returncode == 128 + signum
    assert b"The ladder was ended early" in err
    assert b"2 workers" not in err
