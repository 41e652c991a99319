"""What SIGSTOP does to a job, to the recorder or to a sampler leaves a true recording."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.live_processes import children_named, wait_until

TRAIN = """
import sys, threading

go_on = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), go_on.set()), daemon=True).start()
print("ready", flush=True)
while not go_on.is_set():
    sum(range(1000))
print("trained", flush=True)
"""

STOPPED_S = 2.5
"""The time that is to be told; how long it takes in truth does not matter."""


@pytest.fixture
def training(start, write):
    """A training that is being sampled, and goes on until its stdin ends."""
    running = start(write(TRAIN), stdin=subprocess.PIPE)
    running.wait_line("ready")
    wait_until(lambda: children_named(running.pid, "austin"), "a sampler")
    return running


def end(running):
    running.popen.stdin.close()
    running.popen.stdin = None
    return running.finish()


def target_of(running) -> int:
    (found,) = [
        pid
        for pid in map(int, children_of(running.pid))
        if b"train.py" in _command_line(pid) and b"rlprof" not in _command_line(pid).split(b"\0")
    ]
    return found


def children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def _command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def stop_and_continue(pids) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(STOPPED_S)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def test_a_stopped_job_has_its_pause_left_out(training):
    stop_and_continue([training.pid, target_of(training), *children_named(training.pid, "austin")])

    result = end(training)

    assert result.code == 0
    assert "run-paused" in result.note_slugs
    assert "recorder-stopped" not in result.note_slugs


def test_a_stopped_target_has_its_pause_left_out(training):
    stop_and_continue([target_of(training)])

    result = end(training)

    assert result.code == 0
    assert "run-paused" in result.note_slugs


def test_a_recorder_that_is_stopped_again_and_again_says_once_what_it_did_not_see(training):
    samplers = children_named(training.pid, "austin")
    stop_and_continue([training.pid])
    wait_until(
        lambda: set(children_named(training.pid, "austin")) - set(samplers), "another sampler"
    )
    stop_and_continue([training.pid])

    result = end(training)

    (told,) = [note for note in result.recording.notes if note.slug == "recorder-stopped"]
    assert told.text.startswith("rlprof itself was stopped 2 times, for ")
    assert result.code == 0
    assert result.recording.run.wall_us >= 2 * STOPPED_S * 1e6


def test_a_stopped_sampler_holds_up_nobody(training):
    for pid in children_named(training.pid, "austin"):
        os.kill(pid, signal.SIGSTOP)

    result = end(training)

    assert result.code == 0
    assert result.recording.run.complete
    assert children_named(training.pid, "austin") == []
