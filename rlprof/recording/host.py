"""Facts of the machine and the source tree that a run belongs to."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import psutil

CGROUPS = Path("/sys/fs/cgroup")


def host_facts() -> dict[str, str]:
    """CPU model, cores, memory and system, as texts."""
    return {
        "cpu_model": _cpu_model(),
        "cores": str(os.cpu_count() or 1),
        "usable_cores": f"{usable_cores():g}",
        "memory_bytes": str(psutil.virtual_memory().total),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "name": platform.node(),
    }


def usable_cores() -> float:
    """Cores that this process may use: affinity and the cgroup's CPU quota count."""
    cores = float(len(os.sched_getaffinity(0)))
    quota = _cgroup_quota()
    return min(cores, quota) if quota is not None else cores


def git_state(folder: Path) -> str | None:
    """``abc1234`` or ``abc1234+changes``; None outside a git repository or without git."""
    head = _git(folder, "rev-parse", "--short", "HEAD")
    if head is None:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return f"{head}+changes" if changes else head


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        answer = subprocess.run(
            ["git", "--no-optional-locks", *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=2,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _cgroup_quota() -> float | None:
    """Cores that the control groups allow: the least on the way up; None where there is no limit."""
    quotas = [quota for folder in _cgroup_folders() if (quota := _quota(folder)) is not None]
    return min(quotas, default=None)


def _cgroup_folders() -> list[Path]:
    """The folders of our own groups and of those above, in version 2 and in version 1."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    folders = [CGROUPS, CGROUPS / "cpu"]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        base = CGROUPS if not controllers else CGROUPS / "cpu"
        if controllers and "cpu" not in controllers.split(","):
            continue
        group = base / path.lstrip("/")
        folders += [folder for folder in (group, *group.parents) if base in folder.parents]
    return folders


def _quota(folder: Path) -> float | None:
    """Version 2's ``cpu.max``, else version 1's quota and period."""
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
        return None if quota in ("max", "-1") else int(quota) / int(period)
    except (OSError, ValueError):
        return None
