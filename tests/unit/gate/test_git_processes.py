"""Git as a process: being told to stop ends all of it, and only then goes on."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import threading
from contextlib import suppress

import pytest

from rlprof.errors import MeasureError
from rlprof.gate import processes
from rlprof.gate.interruption import Interrupted, interruptible
from rlprof.gate.worktrees import git as asking_git
from rlprof.gate.worktrees.git import git
from tests.live_processes import processes_with, wait_until

# A git that starts another one, as `git worktree add` does to check files out.
STAND_IN = """
    #!{python} -S
    import pathlib, signal, subprocess, sys, time
    here = pathlib.Path({here!r})
    CHILD = '''
    import pathlib, signal, sys, time
    def end(*_):
        time.sleep({tidying_s})
        pathlib.Path({here!r}, "tidied").touch()
        sys.exit()
    signal.signal(signal.SIGTERM, {handler})
    pathlib.Path({here!r}, "ready").touch()
    time.sleep(600)
    '''
    subprocess.Popen([sys.executable, "-S", "-c", CHILD, str(here)])
    time.sleep(600)
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Puts it before the real git; what is left of it at the end is killed."""

    def _stand_in(*, handler="end", tidying_s=0.0):
        program = tmp_path / "git"
        text = STAND_IN.format(
            python=sys.executable, here=str(tmp_path), handler=handler, tidying_s=tidying_s
        )
        program.write_text(textwrap.dedent(text).lstrip())
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        return tmp_path

    yield _stand_in
    for pid in processes_with(str(tmp_path)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def stopped_when(ready):
    def stop():
        wait_until(ready.exists, "git is at work")
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=stop)
    thread.start()
    return thread


def test_what_git_has_started_tidies_up_and_ends_with_it(stand_in):
    folder = stand_in(tidying_s=0.3)
    thread = stopped_when(folder / "ready")

    with pytest.raises(Interrupted), interruptible():
        git(folder, "worktree", "add")

    assert (folder / "tidied").exists()
    assert processes_with(str(folder)) == []
    thread.join()


def test_what_does_not_end_is_killed(stand_in, monkeypatch):
    monkeypatch.setattr(processes, "GRACE_S", 0.1)
    folder = stand_in(handler="signal.SIG_IGN")
    thread = stopped_when(folder / "ready")

    with pytest.raises(Interrupted), interruptible():
        git(folder, "worktree", "add")

    assert processes_with(str(folder)) == []
    thread.join()


def test_a_git_that_hangs_is_ended_whole(stand_in, monkeypatch):
    monkeypatch.setattr(asking_git, "_TIMEOUT_S", 1.0)
    folder = stand_in()

    with pytest.raises(MeasureError) as failure:
        git(folder, "status")

    assert failure.value.slug == "worktree-failed"
    assert processes_with(str(folder)) == []


def test_no_git_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(MeasureError) as failure:
        git(tmp_path, "status")

    assert failure.value.slug == "git-missing"
