"""Without a sampler, or with one that fails, the training goes on and the run file says what is missing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live_processes import children_named, wait_until

WORK = """
import sys, time

def work():
    end = time.monotonic() + 0.6
    while time.monotonic() < end:
        sum(range(1000))

work()
print("trained")
sys.exit(7)
"""


def test_an_austin_that_does_not_exist(write, rlprof_run):
    result = rlprof_run(write(WORK), options=["--austin", "/nonexistent/austin"], report=True)

    assert (result.code, result.out) == (7, b"trained\n")
    assert "austin-missing" in result.note_slugs
    assert "/nonexistent/austin" in result.err
    assert result.root.fate == "probe-only"
    assert "work" in result.functions()


def test_no_austin_anywhere(write, start, tmp_path):
    """An interpreter without austin beside it, and a PATH without one."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    (venv / "pyvenv.cfg").write_text(Path(sys.prefix, "pyvenv.cfg").read_text())
    running = start(
        write(WORK),
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        },
        python=venv / "bin" / "python",
    )

    result = running.finish()

    assert (result.code, result.out) == (7, b"trained\n")
    assert "austin-missing" in result.note_slugs
    assert result.root.fate == "probe-only"


def test_neither_austin_nor_probe(write, rlprof_run):
    """Nothing to see with: the process is listed as missed, and the report still works."""
    options = ["--austin", "/nonexistent/austin", "--no-probe"]
    result = rlprof_run(write(WORK), options=options, report=True)

    assert (result.code, result.out) == (7, b"trained\n")
    assert result.root.fate == "missed"
    assert result.root.note
    assert "missed" in result.err or "not sampled" in result.err


def an_austin(tmp_path: Path, script: str) -> Path:
    """A stand-in that answers ``--version`` and then does what ``script`` says."""
    program = tmp_path / "austin"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "austin 3.7.0" && exit\n{script}\n'
    )
    program.chmod(0o755)
    return program


def test_no_permission_to_read_the_target(write, rlprof_run, tmp_path):
    """As under seccomp, where austin ends with 37."""
    austin = an_austin(tmp_path, "exit 37")

    result = rlprof_run(write(WORK), options=["--austin", austin])

    assert (result.code, result.out) == (7, b"trained\n")
    assert result.root.fate == "probe-only"
    assert "no permission to read its memory" in result.root.note


def test_an_austin_that_prints_rubbish(write, rlprof_run, tmp_path):
    austin = an_austin(tmp_path, "head -c 100000 /dev/urandom; exec sleep 30")

    result = rlprof_run(write(WORK), options=["--austin", austin])

    assert (result.code, result.out) == (7, b"trained\n")
    assert result.recording.run.complete
    assert result.root.fate == "probe-only"


def test_an_austin_that_says_nothing(write, rlprof_run, tmp_path):
    """It may cost the handshake's time, and no more."""
    austin = an_austin(tmp_path, "exec sleep 30")

    result = rlprof_run(write(WORK), options=["--austin", austin])

    assert (result.code, result.out) == (7, b"trained\n")
    assert result.root.fate == "probe-only"
    assert result.recording.run.wall_us < 5_000_000


def test_an_austin_that_writes_mojo_of_another_version(write, rlprof_run, tmp_path):
    program = tmp_path / "austin"
    program.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "austin 4.0.0" && exit\n'
        "printf 'MOJ\\011'; exec sleep 30\n"
    )
    program.chmod(0o755)

    result = rlprof_run(write(WORK), options=["--austin", program])

    assert (result.code, result.out) == (7, b"trained\n")
    assert result.recording.run.complete
    assert "MOJO" in result.root.note


def test_an_austin_that_is_killed_midway_is_replaced(write, start):
    script = WORK.replace("0.6", "2.0").replace("def work", "print('ready', flush=True)\ndef work")
    running = start(write(script))
    running.wait_line("ready")
    wait_until(lambda: children_named(running.pid, "austin"), "austin runs")
    (austin,) = children_named(running.pid, "austin")

    os.kill(austin, signal.SIGKILL)
    result = running.finish()

    assert result.code == 7
    assert result.root.fate == "sampled"
    assert "SIGKILL midway" in result.root.note
    assert result.root.clock_covered_us > 500_000


def test_a_target_that_may_not_be_read(write, start, tmp_path):
    """``dumpable=0`` denies it even to the same user, though not to root."""
    script = write("import ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n" + WORK)
    running = start(script) if os.geteuid() else _start_as_nobody(start, script)

    result = running.finish()

    assert (result.code, result.out) == (7, b"trained\n")
    assert result.recording.run.complete
    assert result.root.clock_covered_us < 300_000  # At most what it did before it said so.
    assert "work" in result.functions()  # By the probe, which needs no permission.
    assert result.root.note


def _start_as_nobody(start, script: Path):
    """From Debian's own interpreter, since ours may lie in a folder of root's."""
    python = "/usr/bin/python3"
    austin = Path(sys.executable).with_name("austin")
    # Up to pytest's own, in which a worker of pytest-xdist has one of its own.
    for folder in script.parents[: 4 if "PYTEST_XDIST_WORKER" in os.environ else 3]:
        folder.chmod(0o777)
    env = {
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(script.parent),
    }
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    probe = [*user, python, "-c", "import rlprof.cli.commands"]
    can = shutil.which("setpriv") and subprocess.run(
        probe, env={**os.environ, **env}, capture_output=True, check=False
    )
    if not can or can.returncode:
        pytest.skip("root reads everything, and rlprof cannot be run as another user here")
    return start(script, options=["--austin", austin], prefix=user, python=python, env=env)
