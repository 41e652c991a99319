"""Signals that end a check: once, and not in the middle of tidying up."""

from __future__ import annotations

import signal

import pytest

from rlprof.gate.interruption import Interrupted, interruptible, shielded


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_once_and_handlers_are_put_back(signum):
    before = signal.getsignal(signum)
    tidied = []

    def be_stopped_twice():
        try:
            signal.raise_signal(signum)
        finally:
            signal.raise_signal(signum)
            tidied.append("up")

    with pytest.raises(Interrupted) as stop, interruptible():
        be_stopped_twice()

    assert stop.value.signum == signum
    assert tidied == ["up"]
    assert signal.getsignal(signum) is before


def test_tidying_up_is_not_interrupted():
    done = []

    def tidy_up():
        with shielded():
            signal.raise_signal(signal.SIGTERM)
            done.append("tidied")
        done.append("went on")

    with pytest.raises(Interrupted), interruptible():
        tidy_up()

    assert done == ["tidied"]


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible(), shielded():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
