"""Tell what follows the target: its processes are noticed, get their samplers, and are let go when they end."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable, Collection
from typing import Final

from rlprof.recording.agents import AgentServer, Announcement
from rlprof.recording.attaching import Attacher
from rlprof.recording.census import Census
from rlprof.recording.end_watch import EndWatch
from rlprof.recording.guard import PartGuard
from rlprof.recording.machine import procfs
from rlprof.recording.program.escort import Escort
from rlprof.recording.sampling_budget import SamplingBudget
from rlprof.recording.tracked import TrackedProcess

MOST_AT_ONCE: Final = 64
"""Announcements that one look through the process tree takes in: a program that forks without a pause may
not keep it from ever ending."""

_LOOK_S: Final = 0.02
"""Between two looks for those that have yet to end."""


class RunProcesses:
    """The processes of one run, from their births to their ends."""

    def __init__(
        self,
        *,
        server: AgentServer,
        census: Census,
        attacher: Attacher,
        budget: SamplingBudget,
        guard: PartGuard,
        usable_cores: float,
        elapsed_us: Callable[[], int],
        selector: selectors.BaseSelector,
    ) -> None:
        self.are_sampled = True
        """Until :meth:`stop_sampling`; who is born after it only has its steps counted."""
        self.unsampled_interval_us = 0
        """CPU time between two looks of a probe after that: 0 for none."""
        self.helpers: dict[int, Callable[[], object]] = {}
        """Children that rlprof has for itself, by pid, and what takes leave of each that has ended."""
        self._server = server
        self._census = census
        self._attacher = attacher
        self._budget = budget
        self._guard = guard
        self._usable_cores = usable_cores
        self._elapsed_us = elapsed_us
        self._ends = EndWatch(self._notice_end)
        selector.register(self._ends, selectors.EVENT_READ, self._ends.hear)

    @property
    def leaving(self) -> int:
        """The number of those that have ended and are not written down yet."""
        return len(self._census.present) - len(self._census.live())

    @property
    def with_windows(self) -> list[TrackedProcess]:
        """All whose windows of torch's profiler are to be known."""
        return [*self._census.present, *self._census.with_windows]

    # Births

    def accept(self) -> None:
        """Take in who announces itself next, if anybody does."""
        announcement = self._server.accept()
        if announcement is not None:
            with self._guard.part("the announcement of a process"):
                self._take_in(announcement)

    def accept_waiting(self, most: int) -> None:
        for _ in range(most):
            if not self._server.has_callers():
                break
            self.accept()
            self._server.release_overdue()

    def scan(self, ours: Collection[int]) -> None:
        """Look through the process tree for births and ends, and see to all that live.

        ``ours`` are children that rlprof has for itself.
        """
        alive = self.of_the_run(ours)
        # Who has ended by now has announced itself before, or never will: only then is it missed.
        self.accept_waiting(MOST_AT_ONCE)
        for tracked in self._census.scan(alive):
            self._ends.watch(tracked.pid)
            self._attach(tracked)
        self.notice_ends()
        live = self._census.live()
        # On a full machine a wait takes its core from the training; and a pool that is made again
        # and again would wait for longer than its processes live.
        wait = len(live) < self._usable_cores and not self._census.expects_short_life()
        probe_interval_us = self._budget.probe_interval_us(self._elapsed_us())
        for tracked in live:
            tracked.look_at_program(self._census.get(tracked.process.ppid))
            self._attacher.tend(tracked, live=len(live))
            tracked.look_every(probe_interval_us)
            if tracked.mailbox is not None:
                tracked.mailbox.let_children_wait(wait)

    def of_the_run(self, ours: Collection[int]) -> list[int]:
        """All live processes below us but our own, parents first, whatever program they run; ``ours`` as in :meth:`scan`."""
        not_of_the_run = {*self._attacher.pids(), *self.helpers, *ours}
        return [pid for pid in procfs.descendants(os.getpid()) if pid not in not_of_the_run]

    def _take_in(self, announcement: Announcement) -> None:
        # Samplers of those that have ended since would be in the way of this one's.
        self.notice_ends()
        before = self._census.get(announcement.pid)
        tracked = self._census.announced(announcement)
        if before is not None and before is not tracked:
            self._attacher.stop(before)
        self._ends.watch(tracked.pid)
        if not self.are_sampled:
            announcement.mailbox.request_interval(self.unsampled_interval_us)
        is_attached = False
        if tracked is not before and self.are_sampled:
            if self._census.expects_short_life():
                self._attacher.put_off(tracked)
            else:
                is_attached = self._attach(tracked)
        # The wait keeps a core busy: on a full machine that is the training's.
        if not is_attached or len(self._census.live()) > self._usable_cores:
            self._server.release(tracked.pid)

    def _attach(self, tracked: TrackedProcess) -> bool:
        return self._attacher.attach(tracked, live=len(self._census.live()))

    # Their lives

    def read_samplers(self) -> None:
        for tracked in self._census.live():
            with self._guard.part("reading the sampler of a process"):
                self._attacher.read(tracked)

    def sample_again(self) -> None:
        """Give all that live a sampler, after time in which none had one."""
        for tracked in self._census.live():
            with self._guard.part("attaching a sampler"):
                self._attach(tracked)

    def stop_sampling(self) -> None:
        for tracked in self._census.live():
            with self._guard.part("the end of a sampler"):
                self._attacher.stop(tracked)
            # Nobody reads what a probe would find.
            tracked.look_every(self.unsampled_interval_us)
        self.are_sampled = False

    # Ends

    def reap(self, escort: Escort) -> None:
        """Note the end of the target and of every child that ``escort`` has seen end."""
        target = escort.target
        if target.exit_code is not None:
            self._end(target.pid, target.exit_code)
        # A sampler's own Popen reaps it, once its output has been read.
        for pid, exit_code in escort.ended_children(self._is_ours):
            if exit_code is not None:
                self._end(pid, exit_code)
                continue
            take_leave = self.helpers.pop(pid, None)
            if take_leave is not None:
                take_leave()
                continue
            with self._guard.part("the end of a sampler"):
                self._attacher.sampler_ended(pid)

    def _is_ours(self, pid: int) -> bool:
        return pid in self.helpers or pid in self._attacher.pids()

    def notice_ends(self) -> None:
        """Let those go that are no child of ours and have ended."""
        # First, for it tells in which order.
        self._ends.hear()
        for tracked, exit_code in list(self._census.notice_ends()):
            self._end(tracked.pid, exit_code)

    def that_go_on(self, ours: Collection[int], within_s: float) -> list[int]:
        """Return the pids of Python processes of the run that have not ended ``within_s`` seconds, services left out.

        The target has ended; ``ours`` are as in :meth:`scan`.
        """
        until = time.monotonic() + within_s
        while True:
            living = procfs.living(self.of_the_run(ours))
            going_on = [pid for pid in living if self._census.may_train(pid)]
            if not going_on or time.monotonic() >= until:
                return going_on
            time.sleep(_LOOK_S)

    def close(self) -> None:
        self._ends.close()

    def _notice_end(self, pid: int) -> None:
        """Keep the moment, and how it ended: a parent that does something else first has not taken that yet.

        No more: it is let go as before, once its sampler has ended by itself or the scan finds it gone.
        """
        tracked = self._census.get(pid)
        if tracked is None:
            return
        tracked.end_heard_us = self._elapsed_us()
        stat = procfs.read_stat(pid)
        if stat is not None and stat.wait_status is not None:
            tracked.end_heard_code = os.waitstatus_to_exitcode(stat.wait_status)

    def _end(self, pid: int, exit_code: int | None) -> None:
        told = self._ends.take_leave(pid)
        tracked = self._census.get(pid)
        if tracked is not None:
            if exit_code is None:
                exit_code = _death(tracked, tracked.end_heard_code if told is None else told)
            with self._guard.part("the end of a sampler"):
                self._attacher.stop(tracked)
            self._census.ended(pid, exit_code)


def _death(tracked: TrackedProcess, exit_code: int | None) -> int | None:
    """``exit_code`` where it is a signal, and the program the one that its agent was in.

    An agent tells of every other end of a worker; what a fork of the program's own becomes may fail as part of the work.
    """
    if exit_code is None or exit_code >= 0 or not tracked.runs_its_program:
        return None
    return exit_code
