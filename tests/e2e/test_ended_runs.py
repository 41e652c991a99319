"""Runs that are ended some seconds after their first step, and runs that are treated from their start."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from rlprof.errors import MeasureError
from rlprof.experiments.restarting import VARIABLE
from rlprof.gate.program import Counting, Program, Side
from rlprof.gate.runner import Runner
from tests.live_processes import processes_with

TRAINS_S = 1.0

ENDLESS = """
import sys, time
import rlprof

print("begins", flush=True)
while True:
    time.sleep(0.001)
    rlprof.step()
"""

WITH_A_WORKER = """
import multiprocessing, time
import rlprof

def work():
    while True:
        time.sleep(0.001)

if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=work)
    worker.start()
    while True:
        time.sleep(0.001)
        rlprof.step()
"""

pytestmark = pytest.mark.timeout(120)


def a_program(script: Path, side: Side = Side.BASE) -> Program:
    return Program(
        side=side,
        command=(sys.executable, str(script)),
        script=script.name,
        folder=script.parent,
        environment=dict(os.environ),
        name="as it is",
    )


@pytest.fixture
def runner(tmp_path) -> Runner:
    folder = tmp_path / "runs"
    folder.mkdir()
    return Runner(folder, timeout_s=60.0, counting=Counting(), trains_s=TRAINS_S)


def test_one_that_never_ends_is_ended_with_its_worker_and_counts_as_ended_well(write, runner):
    script = write(WITH_A_WORKER)
    begun_s = time.monotonic()

    measured = runner.measure(a_program(script), 1)

    assert measured.sps is not None
    assert 0 < measured.sps.median < 1100
    assert TRAINS_S < time.monotonic() - begun_s < 60
    assert not processes_with(str(script))


def test_one_that_ends_by_itself_is_measured_as_ever(write, runner):
    script = write(ENDLESS.replace("while True:", "for _ in range(300):"))

    assert runner.measure(a_program(script), 1).sps is not None


def test_one_that_fails_by_itself_is_told_by_its_error(write, runner):
    script = write(ENDLESS + "    raise ValueError('of its own')\n")

    with pytest.raises(MeasureError, match="of its own"):
        runner.measure(a_program(script), 1)


def test_two_that_never_end_take_turns_and_are_both_ended(write, runner):
    script = write(ENDLESS.replace("time.sleep(0.001)", "sum(range(10_000))"))
    base, head = (a_program(script, side) for side in (Side.BASE, Side.HEAD))

    without, treated = runner.measure_in_turns(base, head, 1)

    assert without.sps is not None
    assert treated.sps is not None
    assert min(without.sps.median, treated.sps.median) > 0
    assert not processes_with(str(script))


VECTOR = """
import os
import gymnasium
import numpy as np

class Told(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 2.0**31, (1,), dtype="float64")
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.array([os.getpid()], dtype="float64"), {}

    def step(self, action):
        return np.array([os.getpid()], dtype="float64"), 0.0, False, False, {}

if __name__ == "__main__":
    envs = gymnasium.vector.AsyncVectorEnv([Told] * 2)
    envs.reset()
    for _ in range(50):
        pids, *_ = envs.step([0, 1])
    print("own" if set(pids[:, 0]) == {os.getpid()} else "workers", flush=True)
    envs.close()
"""


@pytest.mark.parametrize(
    ("treatment", "where"), [("environments-in-process", b"own\n"), ("", b"workers\n")]
)
def test_environments_step_where_the_treatment_of_a_start_has_them(
    treatment, where, write, rlprof_run
):
    pytest.importorskip("gymnasium")

    result = rlprof_run(write(VECTOR), env={VARIABLE: treatment})

    assert (result.code, result.out) == (0, where), result.err
    counted = sum(
        counter.value
        for counter in result.recording.counters
        if counter.name == "steps:gymnasium.vector"
    )
    # Counted the same, or their rates could not be compared.
    assert counted == 100
