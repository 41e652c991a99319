"""Leave the training the processes that it may start: its user, or its container, may have few."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

from rlprof.recording.machine import procfs
from rlprof.recording.machine.cgroups import ControlGroups

MOST_PART: Final = 0.1
"""Part of what may be started that samplers take."""

_PLENTY: Final = 32_768
"""A limit from which on nobody counts what is there, which takes milliseconds."""

_PROCESSES: Final = Path("/proc")


def most_beside_the_training() -> int | None:
    """Return how many processes rlprof may start beside the training's; None where nothing limits them."""
    left = (_left_to_the_user(), ControlGroups.ours().further_tasks())
    known = [tasks for tasks in left if tasks is not None]
    return max(0, int(MOST_PART * min(known))) if known else None


def _left_to_the_user() -> int | None:
    """Return how many processes and threads the user may start yet; None where that is not limited (RLIMIT_NPROC)."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if os.geteuid() == 0 or soft == resource.RLIM_INFINITY or soft >= _PLENTY:
        return None
    running = 0
    for folder in _PROCESSES.iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and folder.stat().st_uid == os.getuid():
                running += len(procfs.threads(int(folder.name)))
    return soft - running
