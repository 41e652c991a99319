"""The doctor on this machine, with both instruments on a real process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rlprof.cli.doctor_checks import ENOUGH, try_recording
from rlprof.errors import LaunchError
from rlprof.recording.samplers.austin import find_austin

pytestmark = pytest.mark.e2e


@pytest.fixture
def austin():
    try:
        return find_austin()
    except LaunchError as error:
        pytest.skip(error.message)


def test_trial_sees_both_instruments_at_work(austin):
    trial = try_recording(sys.executable, austin)

    assert trial.agent_started
    assert trial.probe_stacks > 0
    assert trial.clock_ticks > 0
    assert trial.clock_failure == ""


def test_trial_without_a_sampler_tries_the_agent():
    trial = try_recording(sys.executable, None)

    assert (trial.agent_started, trial.clock_ticks) == (True, 0)
    assert trial.probe_stacks >= ENOUGH


def test_doctor_prints_a_line_for_each_check(austin):
    answer = subprocess.run(
        [sys.executable, "-m", "rlprof", "doctor"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    names = [line[6:].split()[0] for line in answer.stdout.splitlines() if line[0] != " "]
    assert names[:4] == ["system", "C", "Python", "sampler"]
    assert "\x1b[" not in answer.stdout
