"""The witness tells what was sent to the group, and forgets one kind of signal at a time."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run_in_a_group_of_its_own(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


SIGNALLED = """
import os, signal
from rlprof.recording.program import witness as module
from rlprof.recording.program.witness import GroupWitness

module.FORGETTING_S = 60  # However busy the machine is.
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
witness = GroupWitness()
for signum in (signal.SIGUSR1, signal.SIGRTMIN, signal.SIGRTMIN):
    os.killpg(0, signum)
"""


@pytest.mark.parametrize("how", ["heard", "forget"])
def test_a_signal_to_the_group_is_told_once_and_no_other_with_it(how):
    answer = run_in_a_group_of_its_own(
        SIGNALLED
        + f"""
witness.{how}(signal.SIGUSR1)
assert not witness.heard(signal.SIGUSR1)
assert witness.heard(signal.SIGRTMIN)
assert not witness.heard(signal.SIGRTMIN)
witness.end()
"""
    )

    assert answer.returncode == 0, answer.stderr
