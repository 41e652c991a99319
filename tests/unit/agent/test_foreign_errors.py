"""Errors of the program's signal handlers and other threads that come while our code runs go on to the program."""

from __future__ import annotations

import ctypes
import gc
import json
import signal
import sys
import threading
import traceback
import weakref
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import pytest

from rlprof.agent.inject.rlprof_agent import foreign_errors, stack_probe, torch_trace
from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.agent.inject.rlprof_agent.stack_probe import StackProbe


def lose_sight(_number, frame):
    frame = frame.f_back
    raise LateError


def act_once(_number, _frame):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    raise LateError


class Deadline:
    def __call__(self, *_):
        raise TimeoutError("late")

    def method(self, _number, _frame):
        raise TimeoutError("late")


@pytest.fixture
def handle():
    before = signal.getsignal(signal.SIGALRM)
    yield lambda handler: signal.signal(signal.SIGALRM, handler)
    signal.signal(signal.SIGALRM, before)


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


@pytest.mark.parametrize("sent", [LateError, TimeoutError])
def test_what_another_thread_sends_goes_on(probe, monkeypatch, sent):
    """Python raises it in whatever function runs: in the probe's, with none of the program's above it."""
    send = ctypes.pythonapi.PyThreadState_SetAsyncExc
    sends = partial(send, ctypes.c_ulong(threading.get_ident()), ctypes.py_object(sent))
    monkeypatch.setattr(stack_probe, "time", SimpleNamespace(thread_time_ns=sends))

    with pytest.raises(sent):
        probe._on_timer(signal.SIGURG, sys._getframe())


def test_what_another_thread_sends_goes_on_from_a_look():
    assert foreign_errors.goes_on_from_a_look(LateError())
    # As a library's own would be.
    assert not foreign_errors.goes_on_from_a_look(LateError("a tensor without a shape"))
    assert not foreign_errors.goes_on_from_a_look(TypeError())


def test_an_error_of_ours_does_not(probe):
    probe._mailbox = None

    probe._on_timer(signal.SIGURG, sys._getframe())


def test_an_interrupt_goes_on_though_nothing_but_ours_was_running():
    assert foreign_errors.goes_on(KeyboardInterrupt())
    assert not foreign_errors.goes_on(ValueError("of ours"))


@pytest.mark.parametrize(
    "handler",
    [raise_late, lose_sight, act_once, Deadline(), Deadline().method, partial(raise_late, 1)],
    ids=["function", "without-frame", "once", "callable", "method", "partial"],
)
def test_what_a_signal_handler_raises_in_code_of_others_breaks_in(handle, handler):
    handle(handler)

    with pytest.raises((LateError, TimeoutError)) as raised:
        json.loads("1", parse_int=lambda _: signal.raise_signal(signal.SIGALRM))

    assert foreign_errors.breaks_in(raised.value)
    with pytest.raises(type(raised.value)):
        foreign_errors.pass_on(raised.value)


def test_a_failure_of_the_others_does_not(handle):
    handle(raise_late)

    with pytest.raises(json.JSONDecodeError) as raised:
        json.loads("{")

    assert not foreign_errors.breaks_in(raised.value)
    foreign_errors.pass_on(raised.value)


def test_an_interrupt_breaks_in_whoever_raises_it():
    assert foreign_errors.breaks_in(SystemExit(3))


class Held:
    """As a file, or a simulator, that a function of the program's has."""


@pytest.mark.parametrize("error", [OSError("of others"), KeyboardInterrupt(), LateError()])
def test_what_callers_hold_ends_with_them_whatever_becomes_of_an_error(error):
    held = []

    def fails():
        raise error

    def trains():
        ours = Held()
        held.append(weakref.ref(ours))
        try:
            fails()
        except BaseException as told:
            foreign_errors.pass_on(told)

    gc.disable()
    try:
        with suppress(KeyboardInterrupt):
            trains()
        # The parametrized error itself lives on.
        error.__traceback__ = None
        assert held[0]() is None
    finally:
        gc.enable()


def test_a_file_that_is_not_there_when_the_agent_removes_it_holds_no_callers():
    held = []

    def trains():
        ours = Held()
        held.append(weakref.ref(ours))
        torch_trace._remove("/nowhere/trace.json")

    gc.disable()
    try:
        trains()
        assert held[0]() is None
    finally:
        gc.enable()
