"""Where nothing may be added to the environment the training runs without rlprof."""

from __future__ import annotations

import os
import resource
import subprocess

import pytest

from tests.live_processes import DEADLINE_S, cli

ONE_VARIABLE = 128 * 1024
"""Bytes of the longest that Linux lets through, with its name."""


@pytest.fixture
def small_stack():
    """A quarter of it is the room for arguments and environment: 256 KiB."""
    before = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_STACK, before)


def starts(command: list[str], environment: dict[str, str]) -> bool:
    try:
        subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
    except OSError:
        return False
    return True


@pytest.mark.usefixtures("small_stack")
def test_a_training_for_which_there_is_just_room_trains(write, tmp_path):
    script = write("print('trained')")
    # Short: what it is longer than the training's own is room for rlprof.
    command = cli("run", "--no-report", script)
    as_long = [command[0], "-c", "pass  ", *command[3:]]
    environment = {**os.environ, "HALF": "x" * (ONE_VARIABLE - 100)}
    least, most = 0, ONE_VARIABLE - 100
    while most - least > 1:
        middle = (least + most) // 2
        fits = starts(as_long, {**environment, "REST": "x" * middle})
        least, most = (middle, most) if fits else (least, middle)

    answer = subprocess.run(
        command,
        env={**environment, "REST": "x" * least},
        cwd=tmp_path,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert (answer.returncode, answer.stdout) == (0, b"trained\n"), answer.stderr.decode()
    assert b"not recorded" in answer.stderr
