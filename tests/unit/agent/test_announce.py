"""The wait for the sampler, with a recorder that has not answered yet."""

from __future__ import annotations

import os

import pytest

from rlprof.agent.inject.rlprof_agent import announce


class SilentAtFirst:
    """A connection with an answer once somebody else could run."""

    def __init__(self, answers) -> None:
        self._answers = answers

    def setblocking(self, _blocks) -> None: ...

    def recv(self, _size) -> bytes:
        if not self._answers():
            raise BlockingIOError
        return b"y"


@pytest.mark.parametrize("policy", [os.SCHED_FIFO, os.SCHED_RR])
def test_a_process_of_a_real_time_policy_lets_the_recorder_run(monkeypatch, policy):
    """Else it keeps the recorder off their core until the time is over."""
    naps = []
    monkeypatch.setattr(announce.os, "sched_getscheduler", lambda _pid: policy)
    monkeypatch.setattr(announce.time, "sleep", naps.append)
    monkeypatch.setattr(announce.time, "monotonic", lambda: 0.0 if len(naps) < 2 else 9.0)

    announce._await_sampler(SilentAtFirst(lambda: naps))

    assert naps == [announce.NAP_S]


@pytest.mark.parametrize("error", [None, OSError(38, "not implemented"), AttributeError()])
def test_any_other_keeps_its_interpreter_running(monkeypatch, error):
    looks = []

    def policy(_pid):
        if error is not None:
            raise error
        return os.SCHED_OTHER

    monkeypatch.setattr(announce.os, "sched_getscheduler", policy)
    monkeypatch.setattr(announce.time, "sleep", lambda _seconds: pytest.fail("it slept"))

    announce._await_sampler(SilentAtFirst(lambda: len(looks) > 2 or looks.append(0)))

    assert len(looks) == 3
