"""Look at what is kept per process, per thread and per hour: bounded, also where limits are low."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.attack.arena import PROGRAMS, Arena, Ended, Failed
from benchmarks.attack.row import Row
from benchmarks.attack.training import recording_in

MOST_GROWN_BYTES = 100 << 20
"""Of resident memory of the recorder, over thousands of processes."""

LOOK_S = 0.2


@dataclass
class Growth:
    """The amounts that a process held at each look."""

    descriptors: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)

    def look(self, pid: int) -> None:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        except OSError:
            return
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        if "VmRSS" in fields:
            self.descriptors.append(descriptors)
            self.threads.append(int(fields["Threads"]))
            self.resident.append(int(fields["VmRSS"].split()[0]) << 10)


def _watch(arena: Arena, process: subprocess.Popen[bytes], within_s: float) -> tuple[Ended, Growth]:
    """Look at the recorder until it ends."""
    growth = Growth()
    deadline = time.monotonic() + within_s * arena.patience
    while process.poll() is None:
        if time.monotonic() > deadline:
            raise Failed(f"still ran after {within_s * arena.patience:.0f} s")
        growth.look(process.pid)
        time.sleep(LOOK_S)
    return arena.finish(process), growth


def children(arena: Arena, count: int, descriptors: int, within_s: float) -> str:
    shutil.copy(PROGRAMS / "short_children.py", arena.work)
    process = arena.start(
        arena.recorded("short_children.py", str(count)),
        limits={resource.RLIMIT_NOFILE: descriptors},
    )
    ended, growth = _watch(arena, process, within_s)
    if (ended.code, ended.out) != (0, b"{3}\n"):
        raise Failed(f"exit {ended.code}: {ended.complaint}")
    held = recording_in(arena)
    if not held["complete"]:
        raise Failed(f"the recording is not whole: {held['notes']}")
    return _judge(growth, descriptors, f"{len(held['processes'])} processes")


def _judge(growth: Growth, descriptors: int, what: str) -> str:
    if not growth.descriptors:
        return f"{what}; it was over before a look"
    most = max(growth.descriptors)
    if most > descriptors * 3 // 4:
        raise Failed(f"{most} descriptors were open, of {descriptors}")
    grown = max(growth.resident) - growth.resident[len(growth.resident) // 10]
    if grown > MOST_GROWN_BYTES:
        raise Failed(f"the recorder's memory grew by {grown >> 20} MiB")
    if max(growth.threads) > 8:
        raise Failed(f"the recorder had {max(growth.threads)} threads")
    return (
        f"{what}; at most {most} descriptors, {max(growth.threads)} threads, "
        f"{max(0, grown) >> 20} MiB more"
    )


def short_children(arena: Arena) -> str:
    return children(arena, 5_000, 256, 600)


def some_children(arena: Arena) -> str:
    return children(arena, 250, 96, 60)


def many_interpreters(arena: Arena) -> str:
    """Fresh interpreters, from a shell."""
    loop = f"for i in $(seq 200); do '{sys.executable}' -S -c pass; done; echo done"
    process = arena.start(
        arena.recorded("--", "bash", "-c", loop), limits={resource.RLIMIT_NOFILE: 96}
    )
    ended, growth = _watch(arena, process, 120)
    if (ended.code, ended.out) != (0, b"done\n"):
        raise Failed(f"exit {ended.code}: {ended.complaint}")
    recording_in(arena)
    return _judge(growth, 96, "200 interpreters")


def many_at_once(arena: Arena) -> str:
    """More living processes than descriptors."""
    (arena.work / "program.py").write_text(
        "import os, time\n"
        "pids = []\n"
        "for number in range(80):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        time.sleep(2)\n"
        "        os._exit(number % 7)\n"
        "    pids.append(pid)\n"
        "print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids])\n"
    )
    process = arena.start(arena.recorded("program.py"), limits={resource.RLIMIT_NOFILE: 64})
    ended = arena.finish(process, 60)
    expected = f"{[number % 7 for number in range(80)]}\n".encode()
    if (ended.code, ended.out) != (0, expected):
        raise Failed(f"exit {ended.code}: {ended.complaint}")
    if b"Traceback" in ended.err or b"bug in rlprof" in ended.err:
        raise Failed(f"rlprof broke: {ended.complaint}")
    held = recording_in(arena)
    if not held["complete"]:
        raise Failed(f"the recording is not whole: {held['notes']}")
    if not any("limit" in note or "descriptor" in note for note in held["notes"]):
        raise Failed("no remark tells that not all were recorded")
    return "80 processes under 64 descriptors; told"


def short_threads(arena: Arena) -> str:
    (arena.work / "program.py").write_text(
        "import threading\n"
        "for _ in range(4000):\n"
        "    thread = threading.Thread(target=sum, args=(range(1000),))\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "print('done')\n"
    )
    ended, growth = _watch(arena, arena.start(arena.recorded("program.py")), 120)
    if (ended.code, ended.out) != (0, b"done\n"):
        raise Failed(f"exit {ended.code}: {ended.complaint}")
    return _judge(growth, 256, "4 000 threads")


def nothing_of_ours_inside(arena: Arena) -> str:
    """The target's own descriptors and maps do not grow with its children, either."""
    (arena.work / "program.py").write_text(
        "import os, subprocess, sys\n"
        "def held():\n"
        "    return len(os.listdir('/proc/self/fd')), sum(1 for _ in open('/proc/self/maps'))\n"
        "before = held()\n"
        "for number in range(100):\n"
        "    if os.fork() == 0:\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        "descriptors, maps = held()\n"
        "print(descriptors == before[0], maps - before[1] < 20)\n"
    )
    ended = arena.run(arena.recorded("program.py"))
    if ended.out != b"True True\n":
        raise Failed(f"descriptors and maps: {ended.out!r}, {ended.complaint}")
    return "as many descriptors and maps after 100 children"


_TOLD = {
    short_children: ("5 000 short children under ulimit -n 256.", False),
    some_children: ("250 short children under ulimit -n 96.", True),
    many_interpreters: ("200 interpreters, one after the other, under ulimit -n 96.", False),
    many_at_once: ("80 processes at once under ulimit -n 64.", False),
    short_threads: ("4 000 short threads.", False),
    nothing_of_ours_inside: ("Descriptors and maps of a target with 100 children.", False),
}

ROWS: tuple[Row, ...] = tuple(
    Row(attempt.__name__.replace("_", "-"), "leak", told, attempt, is_fast)
    for attempt, (told, is_fast) in _TOLD.items()
)
