"""Exit codes of what a signal ended."""

from __future__ import annotations

import signal

from rlprof.errors import exit_code_of_returncode, exit_code_of_signal
from rlprof.model.crash import signal_of


def test_the_code_of_a_signal_is_that_of_a_shell():
    assert exit_code_of_signal(signal.SIGINT) == 130
    assert signal_of(exit_code_of_signal(signal.SIGKILL)) is signal.SIGKILL


def test_a_negative_returncode_is_a_signals():
    assert [exit_code_of_returncode(code) for code in (0, 3, -15)] == [0, 3, 143]
