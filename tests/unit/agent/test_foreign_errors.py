"""Errors of the program's signal handlers that run while our code does go on to the program."""

from __future__ import annotations

import signal
import sys
import traceback

import pytest

from rlprof.agent.inject.rlprof_agent import foreign_errors
from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.agent.inject.rlprof_agent.stack_probe import StackProbe


class LateError(Exception):
    pass


def raise_late(*_):
    raise LateError


@pytest.fixture
def probe():
    mailbox = Mailbox(10_000)
    yield StackProbe(mailbox)
    mailbox.close_descriptor()


def test_an_error_of_the_program_s_own_leaves_the_probe_s_handler(probe, monkeypatch):
    """As a timeout by SIGALRM does that comes while the handler is running."""
    monkeypatch.setattr(probe, "_obey_interval", raise_late)

    with pytest.raises(LateError) as raised:
        probe._on_timer(signal.SIGURG, sys._getframe())

    if sys.version_info >= (3, 11):
        names = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
        assert names[1:] == ["raise_late"]


def test_an_error_of_ours_does_not(probe):
    probe._mailbox = None

    probe._on_timer(signal.SIGURG, sys._getframe())


def test_an_interrupt_goes_on_though_nothing_but_ours_was_running():
    assert foreign_errors.goes_on(KeyboardInterrupt())
    assert not foreign_errors.goes_on(ValueError())
