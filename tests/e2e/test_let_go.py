"""What the target closes is closed: whoever waits for that on the other side hears of it while it trains on."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from typing import TextIO

import pytest

from tests.live_processes import DEADLINE_S, cli, wait_until

CLOSES = """
    import os, sys, time
    for fd in map(int, sys.argv[1:]):
        os.close(fd)
    while not os.path.exists("go"):
        time.sleep(0.01)
"""

STEPS = r"--sps-pattern=steps=(\d+)"


@pytest.fixture
def recorded(write, tmp_path):
    """Starts the closing program under rlprof, ends it with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def _start(*arguments: str, options: tuple[str, ...] = (), **keywords: object):
        run = cli("run", "--no-report", "-o", tmp_path / "run.rlprof", *options)
        command = [*run, str(write(CLOSES)), *arguments]
        started.append(subprocess.Popen(command, cwd=tmp_path, **keywords))
        return started[-1]

    yield _start
    (tmp_path / "go").touch()
    for each in started:
        with each:
            assert each.wait(DEADLINE_S) == 0


@pytest.mark.parametrize("options", [(), (STEPS,)], ids=["", "pattern"])
def test_who_waits_for_the_end_of_an_inherited_pipe_goes_on(recorded, options):
    reading, writing = os.pipe()
    recorded(str(writing), options=options, pass_fds=[writing])
    os.close(writing)

    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b""


def test_who_reads_the_output_sees_its_end(recorded):
    running = recorded("1", stdout=subprocess.PIPE)

    assert running.stdout.read() == b""
    assert running.poll() is None


@pytest.mark.parametrize("options", [(), (STEPS,)], ids=["", "pattern"])
def test_who_writes_the_input_hears_that_nobody_reads_it(recorded, options):
    running = recorded("0", options=options, stdin=subprocess.PIPE)

    def is_refused() -> bool:
        try:
            os.write(running.stdin.fileno(), b"x")
        except BrokenPipeError:
            return True
        return False

    wait_until(is_refused, "the input is closed")


def test_a_lock_that_is_handed_on_is_free(recorded, tmp_path):
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        recorded(str(lock.fileno()), pass_fds=[lock.fileno()])

    with (tmp_path / "lock").open("w") as lock:
        wait_until(lambda: is_ours(lock), "the lock is free")


def is_ours(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


LOCKS = """
import fcntl, os, sys
lock = os.open("lock", os.O_RDWR | os.O_CREAT)
fcntl.lockf(lock, fcntl.LOCK_EX)
os.set_inheritable(lock, True)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_a_lock_of_the_process_that_became_rlprof_is_kept(write, start, tmp_path):
    waits = "print('ready', flush=True); import sys; sys.stdin.read()"
    running = start(write(waits), prefix=[sys.executable, "-c", LOCKS], stdin=subprocess.PIPE)
    running.wait_line("ready")

    with (tmp_path / "lock").open("w") as lock, pytest.raises(BlockingIOError):
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    running.popen.stdin.close()
    running.popen.stdin = None
    assert running.finish().code == 0
