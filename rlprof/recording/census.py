"""Who belongs to the run: every Python process of the tree, how it came to be, and its fate."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace

from rlprof.model.recording import Process, Thread
from rlprof.recording import procfs
from rlprof.recording.agents import Announcement
from rlprof.recording.mailbox import PROBE_STATE_TEXTS, MailboxReader
from rlprof.recording.stacks import StackTable
from rlprof.recording.tracked import TrackedProcess

LEFT_OUT = {
    "multiprocessing.resource_tracker": "the resource tracker of multiprocessing",
    "multiprocessing.forkserver": "the fork server of multiprocessing",
    "torch._inductor.compile_worker": "a compile worker of torch",
    "tensorboard": "TensorBoard",
    "wandb-service": "the service of Weights & Biases",
}
"""Service processes that are not sampled, by a part of their arguments."""

GRACE_US = 300_000
"""How long the scan leaves a new process to its agent before it is sampled without one."""


class Census:
    """The processes of a run, live and ended."""

    def __init__(self, stacks: StackTable, elapsed_us: Callable[[], int]) -> None:
        self.root_pid = 0
        self.all: list[TrackedProcess] = []
        self.threads: list[Thread] = []
        self.new_threads: list[Thread] = []
        self._live: dict[int, TrackedProcess] = {}
        self._first_seen_us: dict[int, int] = {}
        self._not_python: set[int] = set()
        self._stacks = stacks
        self._elapsed_us = elapsed_us

    def live(self) -> list[TrackedProcess]:
        return list(self._live.values())

    def get(self, pid: int) -> TrackedProcess | None:
        """The live process with this pid."""
        return self._live.get(pid)

    def announced(self, announcement: Announcement) -> TrackedProcess:
        """Take in a process that carries an agent."""
        pid = announcement.pid
        before = self._live.get(pid)
        method = self._start_method(announcement)
        if before is not None:
            # The same process with a new program: its earlier life ends here.
            self.ended(pid, exit_code=None)
        return self._add(
            pid,
            ppid=announcement.ppid,
            python=announcement.python,
            start_method="exec" if before is not None else method,
            mailbox=announcement.mailbox,
        )

    def scan(self, ignore: set[int]) -> list[TrackedProcess]:
        """Look through the process tree; the newly found that have no agent."""
        now = self._elapsed_us()
        found = []
        alive = [pid for pid in procfs.descendants(os.getpid()) if pid not in ignore]
        for pid in alive:
            if pid in self._live or pid in self._not_python:
                continue
            first_seen = self._first_seen_us.setdefault(pid, now)
            if now - first_seen < GRACE_US:
                continue
            if not procfs.is_python(pid):
                # Not for good: a shell becomes Python by exec.
                self._first_seen_us[pid] = now
                continue
            stat = procfs.read_stat(pid)
            if stat is not None and not stat.has_ended:
                method = "root" if pid == self.root_pid else "unknown"
                process = self._add(
                    pid, ppid=stat.ppid, python="", start_method=method, mailbox=None
                )
                found.append(process)
        for pid in set(self._first_seen_us) - set(alive):
            del self._first_seen_us[pid]
        return found

    def notice_ends(self) -> Iterator[TrackedProcess]:
        """Yield live processes that are no more."""
        for pid, process in list(self._live.items()):
            stat = procfs.read_stat(pid)
            if stat is None or stat.has_ended or stat.start_ticks != process.start_ticks:
                yield process

    def ended(self, pid: int, exit_code: int | None) -> TrackedProcess | None:
        """Note the end of a process; None if it was not known."""
        process = self._live.pop(pid, None)
        if process is not None:
            process.process = replace(
                process.process, ended_us=self._elapsed_us(), exit_code=exit_code
            )
        return process

    def _add(
        self, pid: int, *, ppid: int, python: str, start_method: str, mailbox: MailboxReader | None
    ) -> TrackedProcess:
        argv = procfs.read_arguments(pid)
        left_out = _left_out(argv) if start_method not in ("fork", "forkserver") else None
        stat = procfs.read_stat(pid)
        process = Process(
            id=len(self.all),
            pid=pid,
            ppid=ppid,
            argv=argv,
            executable=procfs.read_executable(pid),
            python=python,
            start_method=start_method,
            started_us=self._elapsed_us(),
            ended_us=None,
            exit_code=None,
            fate="missed" if left_out is None else "left-out",
            note="" if left_out is None else f"left out: {left_out}",
        )
        tracked = TrackedProcess(
            process,
            start_ticks=stat.start_ticks if stat is not None else 0,
            mailbox=mailbox,
            stacks=self._stacks,
            new_thread=self._new_thread,
        )
        self.all.append(tracked)
        self._live[pid] = tracked
        return tracked

    def _new_thread(self, process: int, tid: int, name: str, is_main: bool) -> Thread:
        thread = Thread(len(self.threads), process, tid, name, is_main)
        self.threads.append(thread)
        self.new_threads.append(thread)
        return thread

    def _start_method(self, announcement: Announcement) -> str:
        if announcement.pid == self.root_pid:
            return "root"
        if announcement.start == "fork":
            parent = self._live.get(announcement.ppid)
            from_server = parent is not None and _mentions(
                parent.process.argv, "multiprocessing.forkserver"
            )
            return "forkserver" if from_server else "fork"
        argv = procfs.read_arguments(announcement.pid)
        return "spawn" if _mentions(argv, "multiprocessing.spawn") else "subprocess"


def summarise(tracked: TrackedProcess) -> Process:
    """The process as the run file keeps it, its fate decided by what was seen of it."""
    mailbox = tracked.mailbox
    probe_samples = 0 if mailbox is None else mailbox.probe_taken
    fate = tracked.process.fate
    if fate != "left-out":
        if tracked.clock_samples:
            fate = "sampled"
        else:
            fate = "probe-only" if probe_samples else "missed"
    notes = [tracked.process.note, *dict.fromkeys(tracked.reasons)]
    if mailbox is not None and mailbox.probe_state in PROBE_STATE_TEXTS:
        notes.append(f"the stack probe yielded: {PROBE_STATE_TEXTS[mailbox.probe_state]}")
    if fate == "missed" and not any(notes):
        notes.append("it ended before a sampler was attached")
    return replace(
        tracked.process,
        fate=fate,
        note="; ".join(note for note in notes if note),
        clock_samples=tracked.clock_samples,
        clock_invalid_us=tracked.clock_invalid_us,
        clock_covered_us=tracked.clock_covered_us,
        probe_samples=probe_samples,
        probe_lost=0 if mailbox is None else mailbox.probe_lost,
    )


def _left_out(argv: tuple[str, ...]) -> str | None:
    for mark, what in LEFT_OUT.items():
        if _mentions(argv[1:3], mark):
            return what
    return None


def _mentions(argv: tuple[str, ...], mark: str) -> bool:
    return any(mark in argument for argument in argv)
