"""Leave the training the processes that it may start: its user, or its container, may have few."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from rlprof.recording import procfs

MOST_PART: Final = 0.1
"""Part of what may be started that samplers take."""

_PLENTY: Final = 32_768
"""A limit from which on nobody counts what is there, which takes milliseconds."""

_PROCESSES: Final = Path("/proc")
_CONTROL_GROUPS: Final = Path("/sys/fs/cgroup")


def most_beside_the_training() -> int | None:
    """Return how many processes rlprof may start beside the training's; None where nothing limits them."""
    rooms = [*_of_the_user(), *_of_the_control_groups()]
    return max(0, int(MOST_PART * min(rooms))) if rooms else None


def _of_the_user() -> Iterator[int]:
    """Yield how many processes and threads the user may start yet, where that is limited (RLIMIT_NPROC)."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if os.geteuid() == 0 or soft == resource.RLIM_INFINITY or soft >= _PLENTY:
        return
    running = 0
    for folder in _PROCESSES.iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and folder.stat().st_uid == os.getuid():
                running += len(procfs.threads(int(folder.name)))
    yield soft - running


def _of_the_control_groups() -> Iterator[int]:
    """Yield how many more each control group takes that limits them, as containers and schedulers set it."""
    for folder in _groups():
        for group in (folder, *folder.parents):
            if _CONTROL_GROUPS not in (group, *group.parents):
                break
            # "max" where there is no limit, and no file where the group does not count.
            with suppress(OSError, ValueError):
                limit, current = (
                    (group / name).read_text() for name in ("pids.max", "pids.current")
                )
                yield int(limit) - int(current)


def _groups() -> Iterator[Path]:
    """Yield the folders of our control groups that may count processes, by version 2 and by version 1."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                yield _CONTROL_GROUPS / path.strip("/")
            elif "pids" in controllers.split(","):
                yield _CONTROL_GROUPS / "pids" / path.strip("/")
