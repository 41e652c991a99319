"""Facts of the machine and the source tree that a run belongs to."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
from pathlib import Path

import psutil

from rlprof.recording.gpus.reader import GpuReader
from rlprof.recording.machine import procfs
from rlprof.recording.machine.cgroups import ControlGroups
from rlprof.recording.machine.git_environment import without_repository

GIT_S = 1.0
"""For an answer of git: the training waits for it."""

_AVAILABLE = re.compile(rb"MemAvailable:\s+(\d+) kB")


def host_facts(gpus: GpuReader | None = None) -> dict[str, str]:
    """CPU model, cores, memory, system and GPUs, as texts."""
    return {
        "cpu_model": _cpu_model(),
        "cores": str(os.cpu_count() or 1),
        "usable_cores": f"{usable_cores():g}",
        "memory_bytes": str(psutil.virtual_memory().total),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "name": platform.node(),
        **(gpus.facts() if gpus is not None else {}),
    }


def usable_cores() -> float:
    """Cores that this process may use: affinity and the cgroup's CPU quota count."""
    cores = float(len(os.sched_getaffinity(0)))
    quota = ControlGroups.ours().cpu_quota()
    return min(cores, quota) if quota is not None else cores


def busy_cpu_us() -> int | None:
    """CPU time that the whole machine spent since it started, all processors together (µs)."""
    try:
        with open("/proc/stat", "rb") as file:  # noqa: PTH123 - several times a second
            fields = file.readline().split()
    except OSError:
        return None
    # user, nice, system, idle, iowait, irq, softirq; guests are in user already.
    user, nice, system, _, _, irq, softirq = map(int, fields[1:8])
    return (user + nice + system + irq + softirq) * procfs.CLOCK_TICK_US


def run_queue() -> int | None:
    """Threads of the whole machine that run or wait for a processor right now, ours among them."""
    try:
        return int(procfs.content_of("/proc/loadavg").split()[3].partition(b"/")[0])
    except (IndexError, ValueError):
        return None


def available_memory_bytes(groups: ControlGroups) -> int | None:
    """Memory that processes may still take: the machine's or, if less, what ``groups`` leave."""
    found = _AVAILABLE.search(procfs.content_of("/proc/meminfo"))
    if found is None:
        return None
    machine = int(found[1]) * 1024
    group = groups.memory_headroom_bytes()
    return machine if group is None else min(machine, group)


def git_state(folder: Path) -> str | None:
    """``abc1234`` or ``abc1234+changes``; None outside a git repository or without git."""
    head = _git(folder, "rev-parse", "--short", "HEAD")
    if head is None:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return f"{head}+changes" if changes else head


def unsafe_to_change(file: Path) -> str:
    """Say why ``file`` is not to be changed, or why git could not bring it back as it is now; empty where it could."""
    if not file.stat().st_mode & 0o222:
        return "is write-protected"
    if file.stat().st_nlink > 1:
        return "has other names (hard links), which would keep the old text"
    folder, name = file.resolve().parent, f":(literal){file.resolve().name}"
    if _git(folder, "rev-parse", "--is-inside-work-tree") != "true":
        return "is in no git work tree"
    tracked = _git(folder, "ls-files", "-v", "--", name)
    if not tracked:
        return "is not tracked by git"
    if tracked[0].islower() or tracked[0] == "S":
        return "is one at whose changes git does not look (assume-unchanged or skip-worktree)"
    if _git(folder, "status", "--porcelain", "--", name) != "":
        return "has changes that are not committed"
    return ""


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git says, without a program that the repository names (``core.fsmonitor``), and nothing written anywhere."""
    environment = without_repository(os.environ)
    quiet = {name: value for name, value in environment.items() if not name.startswith("GIT_TRACE")}
    try:
        process = subprocess.Popen(
            ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", *arguments],
            cwd=folder,
            env=quiet,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
    except OSError:
        return None
    with process:
        try:
            told, _ = process.communicate(timeout=GIT_S)
        except subprocess.TimeoutExpired:
            # With filters that it has started.
            os.killpg(process.pid, signal.SIGKILL)
            return None
    return told.strip() if process.returncode == 0 else None


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
