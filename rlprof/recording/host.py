"""Facts of the machine and the source tree that a run belongs to."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import psutil


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
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=2, check=True
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
    """Version 2's ``cpu.max``, else version 1's quota and period; None where there is no limit."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            folder = Path("/sys/fs/cgroup/cpu")
            quota = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    if quota in ("max", "-1"):
        return None
    return int(quota) / int(period)
