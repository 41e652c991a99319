"""Tell what the control groups around us allow and take away, in version 2 and in version 1."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

NumberT = TypeVar("NumberT", int, float)

ROOT = Path("/sys/fs/cgroup")
"""Where the groups are mounted; version 1 has a folder for each controller below it."""

MEMBERSHIP = Path("/proc/self/cgroup")

_UNLIMITED_BYTES = 1 << 60
"""Version 1 writes a limit of nearly 2^63 bytes where there is none."""

_THROTTLED = re.compile(r"^throttled_(?P<unit>usec|time) (?P<time>\d+)$", re.MULTILINE)
_FILE_CACHE = re.compile(r"^(?:total_)?inactive_file (?P<bytes>\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ControlGroups:
    """Folders of the groups around us that limit something; mostly there is none.

    Looked for once, since a window closes several times a second: a limit that is set
    while a run goes on is not seen.
    """

    cpu: tuple[Path, ...]
    memory: tuple[Path, ...]
    pids: tuple[Path, ...] = ()

    @classmethod
    def ours(cls, root: Path = ROOT, membership: Path = MEMBERSHIP) -> ControlGroups:
        """The groups of this process, which the target inherits, and those above them."""

        def limited(controller: str, limit: Callable[[Path], float | None]) -> tuple[Path, ...]:
            folders = _folders(controller, root, membership)
            return tuple(folder for folder in folders if limit(folder) is not None)

        return cls(
            limited("cpu", _quota), limited("memory", _headroom), limited("pids", _further_tasks)
        )

    def cpu_quota(self) -> float | None:
        """Cores that the groups allow: the least on the way up; None where there is no limit."""
        return min(_told(self.cpu, _quota), default=None)

    def throttled_us(self) -> int | None:
        """Time in which a quota kept the group from running (µs, since the group began).

        None where there is no quota: nothing can be throttled then.
        """
        return max(_told(self.cpu, _throttled_us), default=None)

    def memory_headroom_bytes(self) -> int | None:
        """Return what the memory limits leave: the least on the way up; None where there is no limit."""
        return min(_told(self.memory, _headroom), default=None)

    def further_tasks(self) -> int | None:
        """Processes and threads that may be started yet: the least on the way up; None where there is no limit."""
        return min(_told(self.pids, _further_tasks), default=None)


def _told(folders: Iterable[Path], of: Callable[[Path], NumberT | None]) -> Iterator[NumberT]:
    """Yield what ``folders`` tell, those left out that tell nothing."""
    return (number for folder in folders if (number := of(folder)) is not None)


def _folders(controller: str, root: Path, membership: Path) -> list[Path]:
    """The folders of our own groups and of those above, for one controller."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        lines = []
    folders = {root: None, root / controller: None}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        base = root / controller if controllers else root
        group = base / path.lstrip("/")
        folders |= {folder: None for folder in (group, *group.parents) if base in folder.parents}
    return list(folders)


def _quota(folder: Path) -> float | None:
    """Version 2's ``cpu.max``, else version 1's quota and period; in cores."""
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
        return None if quota in ("max", "-1") else int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _throttled_us(folder: Path) -> int | None:
    """Version 2 counts in µs, version 1 in ns."""
    try:
        found = _THROTTLED.search((folder / "cpu.stat").read_text())
    except OSError:
        return None
    if found is None:
        return None
    return int(found["time"]) // (1 if found["unit"] == "usec" else 1000)


def _headroom(folder: Path) -> int | None:
    """Limit less use. The file cache counts as free: the kernel drops it before it refuses memory."""
    is_v2 = (folder / "memory.max").exists()
    limit_file, use_file = (
        ("memory.max", "memory.current")
        if is_v2
        else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    )
    try:
        limit = (folder / limit_file).read_text().strip()
        if limit == "max" or int(limit) > _UNLIMITED_BYTES:
            return None
        used = int((folder / use_file).read_text())
        cache = _FILE_CACHE.findall((folder / "memory.stat").read_text())
    except (OSError, ValueError):
        return None
    # Version 1 has the group's own figure first, then that of the whole tree below it.
    return max(0, int(limit) - used + (int(cache[-1]) if cache else 0))


def _further_tasks(folder: Path) -> int | None:
    try:
        # "max" where there is no limit.
        limit, current = (int((folder / name).read_text()) for name in ("pids.max", "pids.current"))
    except (OSError, ValueError):
        return None
    return max(0, limit - current)
