"""Faults that others send wait, and are gone afterwards; a fault of one's own ends the process."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

HELD_BACK = """
import ctypes, os, signal
from rlprof.recording.program.dispositions import FAULTS, forget_faults, hold_back_faults

before = hold_back_faults()
for signum in FAULTS:
    os.kill(os.getpid(), signum)
{then}
forget_faults(before)
assert not signal.sigpending()
print("lives", *signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


@pytest.mark.parametrize(
    ("then", "code", "out"),
    [("", 0, "lives\n"), ("ctypes.string_at(8)", -signal.SIGSEGV, "")],
    ids=["sent", "its own"],
)
def test_a_fault_ends_whose_it_is(then, code, out):
    answer = subprocess.run(
        [sys.executable, "-c", HELD_BACK.format(then=then)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (answer.returncode, answer.stdout) == (code, out), answer.stderr
