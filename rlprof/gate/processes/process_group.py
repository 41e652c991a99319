"""Processes are asked to end, waited for, and ended whole."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from rlprof.gate.processes.interruption import shielded
from rlprof.recording import procfs

GRACE_S: Final = 3.0
"""Between asking a process to end and ending it, so that a training can tidy up."""

_LOOK_S: Final = 0.02
"""Between two looks at who is left."""

_KILL_ROUNDS: Final = 200
"""Of 10 ms, in which what is killed must be gone: a process in a system call takes a while, and what it has
started meanwhile must go too."""


def kill_until_gone(living: Callable[[], Sequence[int]]) -> None:
    """Kill those whose numbers ``living`` tells, again and again until it tells none."""
    for _ in range(_KILL_ROUNDS):
        alive = living()
        if not alive:
            return
        for pid in alive:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def end_group(group: int) -> None:
    """End all processes of ``group``; those that have time to will have removed their lock files.

    What has left the group, as a daemon does, lives on.
    """
    with shielded():
        for signum in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(group, signum)
            if _has_ended(group):
                return


def _has_ended(group: int) -> bool:
    """Whether it has within the time of grace."""
    deadline = time.monotonic() + GRACE_S
    while procfs.living(procfs.group_members(group)):
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_S)
    return True
