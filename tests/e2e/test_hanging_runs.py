"""Trainings that hang once a worker has died, and rates that drift by factors: real processes, recorded."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.live_processes import cli

A_WORKER_DIES = """
import multiprocessing, os, queue, signal, sys, threading, time

import rlprof

def play(data):
    end = time.monotonic() + 3
    while time.monotonic() < end:
        sum(range(20_000))
        data.put(200)
    time.sleep(0.2)  # Until what is in the queue has been sent.
    {dies}

def main():
    data = multiprocessing.get_context("fork").Queue(4)
    worker = multiprocessing.get_context("fork").Process(target=play, args=(data,))
    worker.start()
    {before}
    while True:
        try:
            rlprof.step(data.get({timeout}))
        except queue.Empty:
            return

main()
"""

ENDED_FROM_OUTSIDE = "threading.Timer(20, os.kill, (os.getpid(), signal.SIGTERM)).start()"

SLOWER = """
import time

import rlprof

begun = time.monotonic()
while (done := (time.monotonic() - begun) / 10) < 1:
    end = time.monotonic() + 0.002 * 20**done
    while time.monotonic() < end:
        sum(range(500))
    rlprof.step()
"""


def report_of(run_file: Path) -> dict[str, Any]:
    return json.loads(
        subprocess.run(
            cli("report", "--format", "json", run_file), capture_output=True, timeout=60, check=True
        ).stdout
    )


@pytest.mark.parametrize(
    ("dies", "timeout", "before", "code"),
    [
        pytest.param(
            *("os._exit(3)", "timeout=14", "", 0), id="until a time-out", marks=pytest.mark.slow
        ),
        pytest.param(
            "os.kill(os.getpid(), signal.SIGKILL)", "", ENDED_FROM_OUTSIDE, 143, id="for ever"
        ),
    ],
)
def test_a_wait_for_a_worker_that_died_is_told_first_with_its_place(
    write, start, dies, timeout, before, code
):
    script = write(A_WORKER_DIES.format(dies=dies, timeout=timeout, before=before))

    result = start(script, report=True).finish()

    assert result.code == code
    document = report_of(result.run_file)
    hang = document["run"]["hang"]
    assert hang["end_s"] - hang["start_s"] > 5
    assert hang["for_the_dead"]
    assert hang["kind"] == "queue"
    assert "data.get(" in script.read_text().splitlines()[hang["line"] - 1]
    phases = {phase["name"]: phase for phase in document["throughput"]["phases"]}
    assert "hang" in phases
    assert "steady" not in phases or phases["steady"]["end_s"] <= hang["start_s"] + 1
    told = " ".join(result.err.partition("A worker died: ")[2].split())
    assert "Hung after that: main" in told[:200]


@pytest.mark.slow
def test_a_rate_that_drifts_by_factors_is_promised_to_nobody(write, start):
    result = start(write(SLOWER), report=True).finish()

    document = report_of(result.run_file)
    first, last = document["throughput"]["drift"].values()
    assert first > 2 * last
    assert document["findings"]
    assert all(finding["sps_after"] is None for finding in document["findings"])
    assert all(part["ceiling_sps"] is None for part in document["components"])
    assert "The rate is not steady" in result.err
