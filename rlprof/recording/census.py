"""The processes of a run: every Python process of the tree, how it came to be, and its fate."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Final

from rlprof.errors import exit_code_of_returncode
from rlprof.model.calibration import calibrated
from rlprof.model.recording import Process, Thread
from rlprof.recording.agents import Announcement
from rlprof.recording.launched_programs import is_fork_server, is_spawned_by_joblib, service_of
from rlprof.recording.machine import procfs
from rlprof.recording.mailboxes.mailbox import PROBE_STATE_TEXTS, MailboxReader
from rlprof.recording.redaction.arguments import redact_arguments
from rlprof.recording.stacks import StackTable
from rlprof.recording.tracked import TrackedProcess

NO_AGENT = "it ran without the agent (-E, -I, an environment of its own, or Python before 3.9)"
"""Why the scan had to find a process."""

COVERED = 0.5
"""A clock that stopped before it saw this part of a process's life has its reason told."""

GRACE_US = 300_000
"""How long the scan leaves a new process to its agent before it is sampled without one."""

RECENT: Final = 16
"""Processes of which half have to be short-lived for the next to be expected so."""

SHORT_LIFE_US: Final = calibrated(
    1_000_000,
    unit="µs",
    source="a sampler takes about 10 ms of CPU to start and to attach",
    date="2026-11-21",
)
"""A life so short that its sampler takes 1 % of it, or more."""


@dataclass(frozen=True, slots=True)
class _UnannouncedProcess:
    """A process that the scan has seen and no agent has announced, so far."""

    pid: int
    ppid: int
    seen_us: int
    is_python: bool
    argv: tuple[str, ...]
    executable: str

    @classmethod
    def of(cls, pid: int, now_us: int) -> _UnannouncedProcess:
        argv, executable = procfs.read_arguments(pid), procfs.read_executable(pid)
        # Last: what becomes another program meanwhile, as the child of ``subprocess`` does, has that one's arguments.
        stat = procfs.read_stat(pid)
        is_python = stat is not None and not stat.has_ended and procfs.is_python(pid)
        return cls(
            pid,
            ppid=0 if stat is None else stat.ppid,
            seen_us=now_us,
            is_python=is_python,
            argv=argv if is_python else (),
            executable=executable if is_python else "",
        )


@dataclass
class AgentTotals:
    """All that the agents of a run have told, those of ended processes included."""

    probe_cost_us: float = 0.0
    torch_cost_us: float = 0.0
    looks_cost_us: float = 0.0
    custom_states: set[int] = field(default_factory=set)
    torch_states: set[int] = field(default_factory=set)
    lacks_counters: bool = False

    def add(self, mailbox: MailboxReader) -> None:
        self.probe_cost_us += mailbox.probe_cost_us
        self.torch_cost_us += mailbox.torch_cost_us
        self.looks_cost_us += mailbox.looks_cost_us
        self.custom_states.add(mailbox.custom_state)
        self.torch_states.add(mailbox.torch_state)
        self.lacks_counters |= mailbox.lacks_counters


class Census:
    """The processes of a run: those that live, and of the others what has yet to be written down."""

    def __init__(
        self, stacks: StackTable, elapsed_us: Callable[[], int], *, expects_agents: bool
    ) -> None:
        self.root_pid = 0
        self.present: list[TrackedProcess] = []
        """Live processes, and ended ones whose last words are not in the run file yet."""
        self.with_windows: list[TrackedProcess] = []
        """Ended processes that had windows of torch's profiler; few processes may."""
        self.new_threads: list[Thread] = []
        self._ended_totals = AgentTotals()
        self._processes = 0
        self._threads = 0
        self._recent: deque[TrackedProcess] = deque(maxlen=RECENT)
        self._live: dict[int, TrackedProcess] = {}
        self._unannounced: dict[int, _UnannouncedProcess] = {}
        self._expects_agents = expects_agents
        self._stacks = stacks
        self._elapsed_us = elapsed_us

    def live(self) -> list[TrackedProcess]:
        return list(self._live.values())

    def expects_short_life(self) -> bool:
        """Tell whether the processes that ended last hardly lived: a pool made anew again and again.

        A sampler for each would cost such a program more than its own processes do.
        """
        recent = [tracked.process for tracked in self._recent]
        short = [
            process
            for process in recent
            if process.ended_us is not None
            and process.ended_us - process.started_us < SHORT_LIFE_US
        ]
        return 2 * len(short) >= RECENT

    def agent_totals(self) -> AgentTotals:
        """Sum up what all agents have told up to now."""
        told = deepcopy(self._ended_totals)
        for tracked in self.present:
            if tracked.mailbox is not None:
                told.add(tracked.mailbox)
        return told

    def leave(self, tracked: TrackedProcess) -> None:
        """The last words of an ended process are in the run file: keep nothing of it."""
        self.present.remove(tracked)
        if tracked.mailbox is not None:
            self._ended_totals.add(tracked.mailbox)
            if tracked.mailbox.torch_windows():
                self.with_windows.append(tracked)
        tracked.release()

    def get(self, pid: int) -> TrackedProcess | None:
        """The live process with this pid."""
        return self._live.get(pid)

    def may_train(self, pid: int) -> bool:
        """Tell whether a live process is one of Python, and no service."""
        tracked = self._live.get(pid)
        if tracked is not None:
            return tracked.process.fate != "left-out"
        return procfs.is_python(pid) and service_of(procfs.read_arguments(pid)) is None

    def announced(self, announcement: Announcement) -> TrackedProcess:
        """Take in a process that carries an agent."""
        pid = announcement.pid
        before = self._live.get(pid)
        method = self._start_method(announcement)
        self._unannounced.pop(pid, None)
        if before is not None and _is_late(before, pid):
            # The scan was quicker than the start of the interpreter.
            before.meet_agent(announcement.mailbox, announcement.python, method)
            before.reasons[:] = [reason for reason in before.reasons if reason != NO_AGENT]
            return before
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

    def scan(self, alive: Sequence[int]) -> list[TrackedProcess]:
        """Look through the process tree, ``alive`` being all pids of it; the newly found that have no agent."""
        now = self._elapsed_us()
        found = []
        for pid in alive:
            if pid in self._live:
                self._unannounced.pop(pid, None)
                continue
            unannounced = self._unannounced.get(pid)
            if unannounced is None or not unannounced.is_python:
                # Looked at again each time: a shell becomes Python by exec.
                self._unannounced[pid] = _UnannouncedProcess.of(pid, now)
            elif now - unannounced.seen_us >= GRACE_US:
                found.append(self._found(self._unannounced.pop(pid)))
        for pid in set(self._unannounced) - set(alive):
            self._missed(self._unannounced.pop(pid))
        return found

    def list_unannounced(self) -> None:
        """Recording ends: list as missed what the scan saw and no agent announced."""
        for pid in list(self._unannounced):
            self._missed(self._unannounced.pop(pid))

    def _found(self, unannounced: _UnannouncedProcess) -> TrackedProcess:
        tracked = self._add(
            unannounced.pid,
            ppid=unannounced.ppid,
            python="",
            start_method="root" if unannounced.pid == self.root_pid else "unknown",
            mailbox=None,
        )
        if self._expects_agents:
            tracked.reasons.append(NO_AGENT)
        return tracked

    def _missed(self, unannounced: _UnannouncedProcess) -> None:
        # Between fork and exec a child still bears its parent's command line.
        if unannounced.is_python and unannounced.argv != procfs.read_arguments(unannounced.ppid):
            tracked = self._found(unannounced)
            tracked.process = replace(
                tracked.process,
                argv=redact_arguments(unannounced.argv),
                executable=unannounced.executable,
                started_us=unannounced.seen_us,
            )
            self.ended(unannounced.pid, exit_code=None)

    def notice_ends(self) -> Iterator[tuple[TrackedProcess, int | None]]:
        """Yield live processes that are no more, with the exit code where their parent has not taken it
        yet.
        """
        for pid, tracked in list(self._live.items()):
            stat = procfs.read_stat(pid)
            if stat is None or stat.start_ticks != tracked.start_ticks:
                yield tracked, None
            elif stat.has_ended:
                status = stat.wait_status
                yield tracked, None if status is None else os.waitstatus_to_exitcode(status)

    def ended(self, pid: int, exit_code: int | None) -> TrackedProcess | None:
        """Note the end of a process, with a code of ``-n`` for signal n; None if it was not known."""
        tracked = self._live.pop(pid, None)
        if tracked is None:
            return None
        if exit_code is None and tracked.mailbox is not None:
            exit_code = tracked.mailbox.announced_exit_code
        if exit_code is not None:
            exit_code = exit_code_of_returncode(exit_code)
        heard_us = tracked.end_heard_us
        ended_us = self._elapsed_us() if heard_us is None else heard_us
        tracked.process = replace(tracked.process, ended_us=ended_us, exit_code=exit_code)
        return tracked

    def _add(
        self, pid: int, *, ppid: int, python: str, start_method: str, mailbox: MailboxReader | None
    ) -> TrackedProcess:
        argv = procfs.read_arguments(pid)
        may_be_service = start_method not in ("root", "fork", "forkserver")
        left_out = service_of(argv) if may_be_service else None
        stat = procfs.read_stat(pid)
        process = Process(
            id=self._processes,
            pid=pid,
            ppid=ppid,
            argv=redact_arguments(argv),
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
        self._processes += 1
        self.present.append(tracked)
        self._recent.append(tracked)
        self._live[pid] = tracked
        return tracked

    def _new_thread(self, process: int, tid: int, name: str, is_main: bool) -> Thread:
        thread = Thread(self._threads, process, tid, name, is_main)
        self._threads += 1
        self.new_threads.append(thread)
        return thread

    def _start_method(self, announcement: Announcement) -> str:
        if announcement.pid == self.root_pid:
            return "root"
        if announcement.start == "fork":
            parent = self._live.get(announcement.ppid)
            from_server = parent is not None and is_fork_server(parent.process.argv)
            return "forkserver" if from_server else "fork"
        is_spawned = announcement.start == "spawn" or is_spawned_by_joblib(
            procfs.read_arguments(announcement.pid)
        )
        return "spawn" if is_spawned else "subprocess"


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
    if tracked.interruption is not None and not tracked.reasons and not _was_covered(tracked):
        notes.append(tracked.interruption)
    if fate != "left-out" and mailbox is not None and mailbox.probe_state in PROBE_STATE_TEXTS:
        notes.append(f"the stack probe yielded: {PROBE_STATE_TEXTS[mailbox.probe_state]}")
    if fate in ("missed", "probe-only") and not any(notes):
        notes.append("no sampler was attached to it in time")
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


def _was_covered(tracked: TrackedProcess) -> bool:
    """Tell whether the clock saw most of a process that has ended. A sampler ends a moment before its
    process does, and that is nothing to tell.
    """
    process = tracked.process
    if process.ended_us is None:
        return False
    return tracked.clock_covered_us >= COVERED * (process.ended_us - process.started_us)


def _is_late(tracked: TrackedProcess, pid: int) -> bool:
    """Tell whether an announcement is of this very program, and not of one after an exec."""
    return tracked.mailbox is None and tracked.process.argv == redact_arguments(
        procfs.read_arguments(pid)
    )
