"""Read what the kernel tells about processes under ``/proc``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

CLOCK_TICK_US = 1_000_000 // os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PYTHON_NAME = re.compile(r"^(python|pypy)[\d.]*t?$")

_STATUS = re.compile(
    rb"^VmHWM:\s+(\d+) kB$.*^voluntary_ctxt_switches:\s+(\d+)$.*"
    rb"^nonvoluntary_ctxt_switches:\s+(\d+)$",
    re.MULTILINE | re.DOTALL,
)
_TRANSFERS = re.compile(rb"^read_bytes: (\d+)\nwrite_bytes: (\d+)$", re.MULTILINE)
_PSS = re.compile(rb"^Pss:\s+(\d+) kB$", re.MULTILINE)


class ProcessStat(NamedTuple):
    """A part of ``/proc/PID/stat``."""

    state: str
    ppid: int
    group: int
    """Its process group."""
    cpu_us: int
    """User and system time of all its threads."""
    threads: int
    start_ticks: int
    """Since boot; together with the pid it names one process."""
    virtual_bytes: int
    """Addresses it has asked for, used or not."""
    rss_bytes: int
    wait_status: int | None
    """As ``waitpid`` would give it; None before the end, and where the kernel does not tell it apart from
    an ordinary end."""

    @property
    def has_ended(self) -> bool:
        return self.state in "ZX"


def is_of_others() -> bool:
    """Tell whether the processes in ``/proc`` are counted in another PID namespace than ours: no number means what it says."""
    try:
        return Path("/proc/self").readlink() != Path(str(os.getpid()))
    except OSError:
        return False  # There is none at all.


def content_of(path: str) -> bytes:
    """Return what a file of ``/proc`` says; nothing where it is gone, or not for us to read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - several times a second for each process: a Path takes twice as long to make and open
            return file.read()
    except OSError:
        return b""


def read_stat(pid: int) -> ProcessStat | None:
    """None when the process is gone."""
    text = content_of(f"/proc/{pid}/stat")
    if not text:
        return None
    # The command's name, in parentheses, may hold anything.
    fields = text[text.rindex(b")") + 2 :].split()
    return ProcessStat(
        state=fields[0].decode(),
        ppid=int(fields[1]),
        group=int(fields[2]),
        cpu_us=(int(fields[11]) + int(fields[12])) * CLOCK_TICK_US,
        threads=int(fields[17]),
        start_ticks=int(fields[19]),
        virtual_bytes=int(fields[20]),
        rss_bytes=int(fields[21]) * _PAGE,
        # 0 also stands for "not permitted".
        wait_status=int(fields[49]) or None if fields[0] in b"ZX" and len(fields) > 49 else None,
    )


class ProcessStatus(NamedTuple):
    """A part of ``/proc/PID/status``."""

    peak_rss_bytes: int
    """The most that was ever resident, by the kernel's own count."""
    voluntary_switches: int
    """Switches of the main thread: it gave its CPU away, to wait."""
    involuntary_switches: int
    """Switches of the main thread: the kernel took its CPU for another."""


def read_status(pid: int) -> ProcessStatus | None:
    """None when the process is gone, or has ended and only waits for its parent."""
    found = _STATUS.search(content_of(f"/proc/{pid}/status"))
    if found is None:
        return None
    return ProcessStatus(int(found[1]) * 1024, int(found[2]), int(found[3]))


def has_signal(pid: int, signum: int, *fields: bytes) -> bool:
    """Tell whether ``signum`` is in one of these sets of signals of ``/proc/PID/status``, such as ``SigIgn``."""
    for line in content_of(f"/proc/{pid}/status").splitlines():
        field, _, signals = line.partition(b":")
        if field in fields and int(signals, 16) >> (signum - 1) & 1:
            return True
    return False


def read_transfers(pid: int) -> tuple[int, int] | None:
    """(bytes read from, written to storage) since it began; None when not permitted or gone.

    What the file cache served, and pipes and sockets, are not in it.
    """
    found = _TRANSFERS.search(content_of(f"/proc/{pid}/io"))
    return (int(found[1]), int(found[2])) if found else None


def read_pss_bytes(pid: int) -> int | None:
    """Its proportional memory: shared pages divided by their users. None when not to be had.

    Dear, as the kernel walks all pages: measured 31 ms for 1 GiB.
    """
    found = _PSS.search(content_of(f"/proc/{pid}/smaps_rollup"))
    return int(found[1]) * 1024 if found else None


def read_affinity(pid: int) -> int | None:
    """Number of processors that its main thread may use; None when the process is gone."""
    try:
        return len(os.sched_getaffinity(pid))
    except OSError:
        return None


def read_schedule(pid: int, tid: int) -> tuple[int, int] | None:
    """(µs on a CPU, µs waiting for one) of a thread since it began; None when not known."""
    fields = content_of(f"/proc/{pid}/task/{tid}/schedstat").split()
    try:
        return int(fields[0]) // 1000, int(fields[1]) // 1000
    except (IndexError, ValueError):
        return None


def read_arguments(pid: int) -> tuple[str, ...]:
    try:
        data = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(
        part.decode("utf-8", "backslashreplace") for part in data.rstrip(b"\0").split(b"\0")
    )


def read_executable(pid: int) -> str:
    try:
        link = os.readlink(f"/proc/{pid}/exe".encode())  # noqa: PTH115 - bytes, any name
    except OSError:
        return ""
    return link.decode("utf-8", "backslashreplace")


def read_thread_name(pid: int, tid: int) -> str:
    try:
        return Path(f"/proc/{pid}/task/{tid}/comm").read_text(errors="backslashreplace").strip()
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    """All live processes below ``pid``, parents first."""
    found = []
    pending = [pid]
    while pending:
        children = _children(pending.pop(0))
        found.extend(children)
        pending.extend(children)
    return found


def living(pids: Iterable[int]) -> list[int]:
    """Those that have not ended, zombies left out."""
    stats = ((pid, read_stat(pid)) for pid in pids)
    return [pid for pid, stat in stats if stat is not None and not stat.has_ended]


def every_pid() -> list[int]:
    """All processes that ``/proc`` shows."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - numbers are wanted


def group_members(group: int) -> list[int]:
    """The processes of a process group."""
    stats = ((pid, read_stat(pid)) for pid in every_pid())
    return [pid for pid, stat in stats if stat is not None and stat.group == group]


def ancestors(pid: int) -> list[int]:
    """The parent, its parent and so on, as far as they can be seen."""
    found: list[int] = []
    stat = read_stat(pid)
    while stat is not None and stat.ppid > 0:
        found.append(stat.ppid)
        stat = read_stat(stat.ppid)
    return found


def threads(pid: int) -> list[int]:
    """Return the ids of the threads of a live process; empty when it is gone."""
    try:
        return list(map(int, os.listdir(f"/proc/{pid}/task")))  # noqa: PTH208 - called several times a second
    except OSError:
        return []


def _children(pid: int) -> list[int]:
    return [
        int(child)
        for task in threads(pid)
        for child in content_of(f"/proc/{pid}/task/{task}/children").split()
    ]


def is_python(pid: int) -> bool:
    """Tell whether a Python interpreter runs in the process, by its name or its libraries."""
    executable = read_executable(pid)
    if _PYTHON_NAME.match(Path(executable).name):
        return True
    return b"libpython" in content_of(f"/proc/{pid}/maps")


@lru_cache(maxsize=1)
def yama_restricts() -> bool:
    """Tell whether only a process's ancestors may read its memory (Yama ``ptrace_scope`` 1)."""
    return content_of("/proc/sys/kernel/yama/ptrace_scope").strip() == b"1"
