"""A process with all that it starts: however its ``with`` ends, nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from rlprof.gate import processes
from rlprof.gate.interruption import Interrupted, interruptible
from rlprof.gate.processes import ProcessSession
from tests.live_processes import processes_with, wait_until

STUBBORN = """
import pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path("ready").touch()
time.sleep(600)
"""


@pytest.fixture
def mark(tmp_path, monkeypatch):
    """What carries it at the end is killed."""
    monkeypatch.setattr(processes, "GRACE_S", 0.05)
    yield str(tmp_path / "mark")
    for pid in processes_with(str(tmp_path)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def a_session(folder, *command):
    return ProcessSession(
        (sys.executable, "-c", *command), environment=os.environ, folder=folder, log=folder / "log"
    )


def wait_until_ready(folder):
    """Before that ``STUBBORN`` ends when it is asked to."""
    wait_until((folder / "ready").exists, "SIGTERM is ignored")


def fail_once_ready(folder):
    wait_until_ready(folder)
    raise ZeroDivisionError


def test_its_exit_code_and_its_output(tmp_path):
    with a_session(tmp_path, "print('trained'); raise SystemExit(3)") as session:
        code = session.wait(60)

    assert (code, session.left_behind) == (3, 0)
    assert (tmp_path / "log").read_text() == "trained\n"


def test_what_is_ignored_here_is_ignored_there(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        told = "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"
        with interruptible(), a_session(tmp_path, told) as session:
            session.wait(60)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert (tmp_path / "log").read_text() == "True\n"


def test_what_takes_longer_is_ended(tmp_path, mark):
    with a_session(tmp_path, STUBBORN, mark) as session:
        wait_until_ready(tmp_path)
        assert session.wait(0.01) is None

    assert session.left_behind == 1
    assert processes_with(mark) == []


def test_an_error_ends_it_too(tmp_path, mark):
    with pytest.raises(ZeroDivisionError), a_session(tmp_path, STUBBORN, mark):
        fail_once_ready(tmp_path)

    assert processes_with(mark) == []


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_the_start_leaves_nothing(tmp_path, mark, monkeypatch, signum):
    class Stopped(subprocess.Popen):
        """It arrives when there is a process, and nobody knows of it yet."""

        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            signal.raise_signal(signum)

    monkeypatch.setattr(subprocess, "Popen", Stopped)

    with pytest.raises(Interrupted) as stop, interruptible(), a_session(tmp_path, STUBBORN, mark):
        raise AssertionError("it was stopped before")

    assert stop.value.signum == signum
    assert processes_with(mark) == []


def test_what_cannot_be_started(tmp_path):
    session = ProcessSession(
        ("/nowhere/program",), environment={}, folder=tmp_path, log=tmp_path / "log"
    )

    with pytest.raises(FileNotFoundError), session:
        raise AssertionError("it was not started")
