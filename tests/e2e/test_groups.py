"""A signal to rlprof and its group reaches a target that has left the group, or has only just begun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live_processes import (
    DEADLINE_S,
    Running,
    Terminal,
    children_with,
    cli,
    is_alive,
    processes_with,
    wait_until,
)

COUNTS_SIGNALS = """
    import os, signal, sys, time

    caught = []
    for name in ("SIGINT", "SIGTERM", "SIGUSR1", "SIGCONT"):
        signal.signal(getattr(signal, name), lambda number, frame: caught.append(number))
    {leave}
    print("ready", flush=True)
    while not caught:
        time.sleep(0.005)
    end = time.monotonic() + 0.3  # Time for a second one, if there were any.
    while time.monotonic() < end:
        time.sleep(0.005)
    print("caught", [signal.Signals(number).name for number in caught], flush=True)
    sys.exit(9)
"""

NOT_THE_LEADER = ("sh", "-c", 'trap : INT TERM; "$@"; exit $?', "sh")
"""Starts rlprof in the group of a shell, as a script does."""


@pytest.mark.parametrize(
    ("leave", "name"), [("os.setsid()", "SIGINT"), ("os.setpgrp()", "SIGTERM")]
)
def test_a_signal_to_our_group_reaches_a_target_that_has_left_it(write, start, leave, name):
    running = start(write(COUNTS_SIGNALS.format(leave=leave)), start_new_session=True)
    running.wait_line("ready")

    os.killpg(running.pid, getattr(signal, name))
    result = running.finish()

    assert f"caught ['{name}']" in result.out.decode()
    assert result.code == 9


def test_as_timeout_sends_it_too(write, start):
    script = write(COUNTS_SIGNALS.format(leave="os.setsid()"))
    running = start(script, prefix=NOT_THE_LEADER, start_new_session=True)
    running.wait_line("ready")
    (rlprof,) = children_with(running.pid, "rlprof")

    os.kill(rlprof, signal.SIGTERM)
    os.killpg(running.pid, signal.SIGTERM)
    result = running.finish()

    assert "caught ['SIGTERM']" in result.out.decode()
    assert result.code == 9


def test_workers_hear_it_with_a_target_that_has_left(write, start):
    """Without rlprof the program leads the group, and cannot leave it."""
    running = start(
        write(
            """
            import os, subprocess, sys, time
            os.setpgrp()
            worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            print("ready", worker.pid, os.getpid(), flush=True)
            time.sleep(600)
            """
        ),
        start_new_session=True,
    )
    _, worker, target = running.wait_line("ready").split()

    os.killpg(running.pid, signal.SIGTERM)

    for pid in (int(worker), int(target), running.pid):
        wait_until(lambda pid=pid: not is_alive(pid), f"the end of {pid}")


def test_ctrl_c_does_not_follow_a_target_out_of_its_group(write, terminal, tmp_path):
    """As without rlprof: a terminal signals its foreground alone."""
    script = write(COUNTS_SIGNALS.format(leave="os.setsid()"))
    run = cli("run", "--no-report", "-o", tmp_path / "run.rlprof", script)
    session: Terminal = terminal([*NOT_THE_LEADER, *run])
    session.read_until(b"ready")
    (rlprof,) = children_with(session.pid, "rlprof")

    session.type(b"\x03")
    session.read_until(b"^C")  # It is shown once the signal has been sent.
    os.kill(rlprof, signal.SIGUSR1)
    session.read_until(b"caught ['SIGUSR1']")

    assert session.finish() == 9


STARTED_AMID_A_SIGNAL = """
import os, selectors, signal
from rlprof.recording.program import target
from rlprof.recording.program.escort import Escort

def signalled_first(function):
    def called(*args, **keywords):
        os.killpg(os.getpgrp(), signal.SIGTERM)
        return function(*args, **keywords)
    return called

{when} = signalled_first({when})
escort = Escort(selectors.DefaultSelector())
escort.start(["sleep", "10"], os.environ, None)
print(escort.see_to_the_end())
"""


@pytest.mark.parametrize("when", ["target.subprocess.Popen", "target.hand_down"])
def test_a_signal_to_the_group_while_the_target_starts_ends_it(when):
    """Just before the fork and, in the child, just before the program."""
    done = subprocess.run(
        [sys.executable, "-c", STARTED_AMID_A_SIGNAL.format(when=when)],
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert (done.stdout, done.stderr) == (f"{128 + signal.SIGTERM}\n", "")


def test_signals_to_rlprof_alone_are_each_passed_on(write, start):
    """However soon they follow each other."""
    running = start(
        write(
            """
            import signal, time
            signal.signal(signal.SIGUSR1, lambda number, frame: print("told", flush=True))
            print("ready", flush=True)
            end = time.monotonic() + 20
            while time.monotonic() < end:
                time.sleep(0.005)
            """
        )
    )
    running.wait_line("ready")

    for _ in range(5):
        os.kill(running.pid, signal.SIGUSR1)
        running.wait_line("told")

    os.kill(running.pid, signal.SIGTERM)
    assert running.finish().code == 128 + signal.SIGTERM


def test_sigcont_to_rlprof_alone_reaches_the_target(write, start):
    running = start(write(COUNTS_SIGNALS.format(leave="")))
    running.wait_line("ready")
    _stop(running)

    os.kill(running.pid, signal.SIGCONT)

    assert "caught ['SIGCONT']" in running.finish().out.decode()


def test_sigcont_to_the_group_reaches_the_target_once(write, start):
    running = start(write(COUNTS_SIGNALS.format(leave="")), start_new_session=True)
    running.wait_line("ready")
    _stop(running)

    os.killpg(running.pid, signal.SIGCONT)

    assert "caught ['SIGCONT']" in running.finish().out.decode()


def test_a_stopped_job_goes_on_by_sigcont_to_rlprof_alone(write, start):
    running = start(
        write(
            """
            import os, signal, time
            signal.signal(signal.SIGCONT, lambda number, frame: print("continued", flush=True))
            print("ready", os.getpid(), flush=True)
            time.sleep(60)
            """
        ),
        start_new_session=True,
    )
    target = int(running.wait_line("ready").split()[1])
    os.killpg(running.pid, signal.SIGSTOP)
    wait_until(lambda: _state(running.pid) == _state(target) == "T", "a stopped job")

    os.kill(running.pid, signal.SIGCONT)
    wait_until(lambda: _state(target) != "T", "the target goes on")
    running.wait_line("continued")
    os.kill(running.pid, signal.SIGTERM)

    assert running.finish().code == 128 + signal.SIGTERM


def _stop(running: Running) -> None:
    os.kill(running.pid, signal.SIGSTOP)
    wait_until(lambda: _state(running.pid) == "T", "rlprof is stopped")


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_pattern_finds_the_training_alone(write, start):
    """As ``pkill -f train.py`` looks for it: what is found gets a signal, and passed on it would come twice."""
    script = write(COUNTS_SIGNALS.format(leave=""))
    running = start(script)
    running.wait_line("ready")

    (found,) = processes_with(str(script))
    os.kill(found, signal.SIGTERM)
    result = running.finish()

    assert found != running.pid
    assert "caught ['SIGTERM']" in result.out.decode()
