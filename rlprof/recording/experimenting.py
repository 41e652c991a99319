"""Let somebody experiment with a run while it is recorded: who does, and what they may do with it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, Protocol

from rlprof.libraries.step_sources import STEP_SOURCES
from rlprof.model.counters import UPDATES
from rlprof.model.experiment import Experiment
from rlprof.recording.census import Census
from rlprof.recording.guard import PartGuard
from rlprof.recording.machine import host, procfs
from rlprof.recording.mailboxes.mailbox import MailboxReader
from rlprof.recording.processes import RunProcesses

SWITCHED_WITHIN_US: Final = 2_000
"""CPU time of a process in which it hears that a treatment is to be on or off."""

_LOOK_US: Final = 250_000
"""How often ends of processes are looked for that nobody tells."""

_COUNTED: Final = (*STEP_SOURCES, UPDATES)


class CpuTimes(NamedTuple):
    """CPU seconds since an unknown moment."""

    of_run: float
    """Time of the processes of the run that live."""
    of_host: float
    """Time of everybody."""


class AgentOfProcess(NamedTuple):
    """A process that lives and has an agent."""

    number: int
    """Its number in the run file."""
    pid: int
    mailbox: MailboxReader


class Experimenter(Protocol):
    """One who experiments with a run."""

    def turn(self, bench: Bench) -> float:
        """Do what is due, and return after how many seconds to be called again. Called from the recorder's loop, so it must not wait."""

    def target_ended(self, bench: Bench) -> None:
        """Keep what was measured: the training has ended, and the run file is about to be closed."""


class Bench:
    """The things that an :class:`Experimenter` may do with a run."""

    def __init__(
        self,
        *,
        census: Census,
        processes: RunProcesses,
        own_pids: Callable[[], Collection[int]],
        stop_recording: Callable[[], None],
        elapsed_us: Callable[[], int],
        keep_texts: Callable[[], None],
        keep: Callable[[Sequence[Experiment]], None],
        end_target: Callable[[int], None],
        is_told_to_end: Callable[[], bool],
    ) -> None:
        self._census = census
        self._processes = processes
        self._own_pids = own_pids
        self._stop_recording = stop_recording
        self._elapsed_us = elapsed_us
        self.keep_texts = keep_texts
        """Write the sources and values of hot lines into the run file, for somebody who is to read it now."""
        self.keep = keep
        """Write all experiments up to now into the run file."""
        self._end_target = end_target
        self._is_told_to_end = is_told_to_end
        self._next_look_us = 0
        self._session: int | None = None
        """That of the target, once it was asked to end: what it started in sessions of their own is to outlive it."""

    @property
    def elapsed_s(self) -> float:
        """Seconds of the run, without those in which it was stopped."""
        return self._elapsed_us() / 1e6

    @property
    def is_told_to_end(self) -> bool:
        """True once somebody else has asked the target to end, as by Ctrl-C."""
        return self._is_told_to_end()

    @property
    def is_recorded(self) -> bool:
        """True until :meth:`stop_recording`."""
        return self._processes.are_sampled

    def stop_recording(self) -> None:
        """Take no more samples, so that nothing disturbs what is measured from here on."""
        if self.is_recorded:
            self._processes.unsampled_interval_us = SWITCHED_WITHIN_US
            self._stop_recording()

    def agents(self) -> list[AgentOfProcess]:
        """Return the agents of all processes that live, their samples used for treatments alone."""
        if self._elapsed_us() >= self._next_look_us:
            self._next_look_us = self._elapsed_us() + _LOOK_US
            self._processes.notice_ends()
        found = [
            AgentOfProcess(tracked.process.id, tracked.pid, tracked.mailbox)
            for tracked in self._census.live()
            if tracked.mailbox is not None
        ]
        for agent in found:
            agent.mailbox.treatment.begin()
        return found

    def has_counted(self) -> bool:
        """Tell whether any process has counted steps or updates."""
        return any(
            tracked.mailbox is not None and any(map(tracked.mailbox.total, _COUNTED))
            for tracked in self._census.live()
        )

    def helped_by(self, process: subprocess.Popen[bytes]) -> None:
        """Take ``process``, a child of ours, for no part of the run."""
        self._processes.helpers[process.pid] = process.poll

    def cpu_times(self) -> CpuTimes:
        stats = [procfs.read_stat(tracked.pid) for tracked in self._census.live()]
        of_run = sum(stat.cpu_us for stat in stats if stat is not None)
        return CpuTimes(of_run / 1e6, (host.busy_cpu_us() or 0) / 1e6)

    def queued_s(self, pid: int) -> float:
        """Seconds in which the main thread of a process was ready to run and had no core, since it began."""
        schedule = procfs.read_schedule(pid, pid)
        return 0.0 if schedule is None else schedule[1] / 1e6

    def interrupt_target(self) -> None:
        """Ask the target to end, as Ctrl-C does: a terminal tells its whole process group."""
        self._session = _session_of(self._census.root_pid)
        self._end_group(signal.SIGINT)

    def terminate_target(self) -> None:
        """Tell it to, where it did not hear."""
        self._end_group(signal.SIGTERM)

    def _end_group(self, signum: int) -> None:
        root = self._census.root_pid
        group = _group_of(root)
        self._end_target(signum)
        # One by one, for we may be of that group.
        for pid in self._processes.of_the_run(self._own_pids()):
            if pid != root and group is not None and _group_of(pid) == group:
                _send(pid, signum)

    def terminate_all(self) -> None:
        """Tell every process of the target's session that still lives to end."""
        self._end_session(signal.SIGTERM)

    def kill_all(self) -> None:
        """End every process of the target's session that still lives."""
        self._end_session(signal.SIGKILL)

    def _end_session(self, signum: int) -> None:
        for pid in self._processes.of_the_run(self._own_pids()):
            if self._session is not None and _session_of(pid) == self._session:
                _send(pid, signum)


def _send(pid: int, signum: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signum)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


class Experimenting:
    """The experimenter of a recording, if it has one, and when it is called next."""

    def __init__(self, experimenter: Experimenter | None, bench: Bench, guard: PartGuard) -> None:
        self._experimenter = experimenter
        self._bench = bench
        self._guard = guard
        self._next_s = 0.0

    def due_s(self) -> float | None:
        """Seconds until something is due; None for never."""
        return None if self._experimenter is None else self._next_s - time.monotonic()

    def turn(self) -> None:
        """Let it do what is due; one that fails is not called again, and leaves nothing behind."""
        experimenter = self._experimenter
        if experimenter is None or time.monotonic() < self._next_s:
            return
        self._experimenter = None
        with self._guard.part("the experiments"):
            self._next_s = time.monotonic() + experimenter.turn(self._bench)
            self._experimenter = experimenter
        # While it is recorded samples are for stacks, and nothing was asked for.
        if self._experimenter is None and not self._bench.is_recorded:
            for agent in self._bench.agents():
                agent.mailbox.treatment.leave()

    def target_ended(self) -> None:
        if self._experimenter is not None:
            with self._guard.part("the experiments"):
                self._experimenter.target_ended(self._bench)
