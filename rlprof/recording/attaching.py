"""Keep one sampler attached to every process that should have one."""

from __future__ import annotations

import resource
import selectors
from collections.abc import Callable
from dataclasses import replace

from rlprof.model.calibration import calibrated
from rlprof.model.recording import Note
from rlprof.recording.machine import procfs
from rlprof.recording.machine.process_room import most_beside_the_training
from rlprof.recording.samplers.austin import Austin, AustinProcess
from rlprof.recording.sampling_budget import FINE_FOR_US, SamplingBudget
from rlprof.recording.timeline import SETTLED_US
from rlprof.recording.tracked import TrackedProcess

RETRY_AFTER_US = (50_000, 300_000, 1_000_000)
"""Waits between attempts to attach; after the last the process counts as unsampled."""

MAX_SAMPLERS = calibrated(
    128,
    unit="processes",
    source="a sampler takes 2 MB and 1 to 2 % of a core",
    date="2026-11-21",
)
"""More processes than these have only their stack probe."""

DESCRIPTORS_KEPT = 64
"""Descriptors, of those that rlprof may open, that are not for samplers: mailboxes and connections need some, too."""

PUT_OFF_US = 500_000
"""How long a process has to live before it gets a sampler, where those before it ended too soon."""

SHORT_LIVED = "those before it ended so soon that samplers wait until one has lived for 0.5 s"
"""Why such a process has no clock, should it end before then."""

FULL_AGAIN_US = 1_000_000
"""How long a process waits when all samplers are in use, before it is tried again."""

SILENT_FOR_US = calibrated(
    2_000_000,
    unit="µs",
    source="austin 3.7: looking for it took 5 % of a core at 10 ms",
    date="2026-11-22",
)
"""A sampler that has found no way in for so long ends. Before Python 3.13 there is none into an interpreter
that sleeps."""

STUCK_FOR_US = 5_000_000
"""A sampler that has told nothing for so long, neither of busy nor of idle threads, is replaced."""

RATE_AGAIN_US = 10_000_000
"""How long a sampler at the wrong rate goes on after one at the right rate found no way in."""

AWAY = "for a while no sampler found its way in, as it slept or had no core"
ASLEEP = "it slept, and no sampler finds its way into a Python before 3.13 that sleeps"
ASLEEP_AGAIN_US = 60_000_000
"""How long such a process is left alone, unless it wakes up."""


class Attacher:
    """Starts, renews and ends samplers. The first output of each arrives through the selector, the
    rest waits until :meth:`read`.
    """

    def __init__(
        self,
        austin: Austin | None,
        selector: selectors.BaseSelector,
        budget: SamplingBudget,
        *,
        elapsed_us: Callable[[], int],
        on_first_sample: Callable[[TrackedProcess], None],
    ) -> None:
        self._austin = austin
        self._selector = selector
        self._budget = budget
        self._elapsed_us = elapsed_us
        self._on_first_sample = on_first_sample
        self._running: dict[int, tuple[TrackedProcess, AustinProcess]] = {}
        self._glancing: set[AustinProcess] = set()
        """Samplers that rest between single looks."""
        self._most = _most_samplers()
        self._was_full = False
        self.cpu_us = 0
        """CPU time of all samplers that have ended."""

    def notes(self) -> list[Note]:
        """Say why processes went without a sampler, where the reason lies in none of them."""
        if not self._was_full or self._most == MAX_SAMPLERS:
            return []
        if self._most == _most_by_files():
            return [
                Note(
                    "warning",
                    "few-descriptors",
                    f"The limit on open files (ulimit -n) left room for {self._most} samplers at once: further "
                    "processes had their stack probe only.",
                )
            ]
        return [
            Note(
                "warning",
                "few-processes",
                f"The limit on processes (ulimit -u, or the container's) left room for {self._most} samplers at once: "
                "further processes had their stack probe only.",
            )
        ]

    def pids(self) -> frozenset[int]:
        """The pids of the samplers themselves."""
        return frozenset(self._running)

    def attach(self, tracked: TrackedProcess, *, live: int) -> bool:
        """Begin to sample; ``live`` processes share the machine. False when nothing was started."""
        if self._austin is None or tracked.process.fate == "left-out":
            return False
        if len(self._running) >= self._most:
            self._was_full = True
            tracked.interruption = f"more than {self._most} processes at once"
            tracked.next_attempt_us = self._elapsed_us() + FULL_AGAIN_US
            return False
        return self._start(tracked, self._budget.first_interval_us(live))

    def put_off(self, tracked: TrackedProcess) -> None:
        """Attach only once the process has shown that it lives for longer than those before it."""
        tracked.interruption = SHORT_LIVED
        tracked.next_attempt_us = self._elapsed_us() + PUT_OFF_US

    def tend(self, tracked: TrackedProcess, *, live: int) -> None:
        """Do what is due for this process: try again, end a vain search, or change the rate."""
        now = self._elapsed_us()
        if tracked.next_attempt_us is not None and (
            now >= tracked.next_attempt_us or (tracked.interruption == ASLEEP and tracked.is_busy)
        ):
            tracked.next_attempt_us = None
            self.attach(tracked, live=live)
            return
        running = [sampler for sampler in tracked.samplers if not sampler.is_over]
        if running and not running[-1].has_samples:
            if now - tracked.attached_us > SILENT_FOR_US:
                self._give_up_search(tracked, running)
        elif running and now - max(tracked.attached_us, tracked.last_tick_us) > STUCK_FOR_US:
            # Somebody has stopped it (SIGSTOP), or it waits for memory that does not come.
            self.drop(tracked)
            self.attach(tracked, live=live)
        elif len(running) == 1:
            self._tend_rate(tracked, running[0], now, live)

    def stop(self, tracked: TrackedProcess) -> None:
        """End its samplers; what they still had to say is folded by the next window."""
        for sampler in tracked.samplers:
            if not sampler.is_over:
                self._stop_sampler(sampler)
        tracked.next_attempt_us = None

    def drop(self, tracked: TrackedProcess) -> None:
        """End its samplers, unread: they measured time in which they stood still themselves."""
        for sampler in tracked.samplers:
            if not sampler.is_over:
                self._forget(sampler)
                sampler.kill()
        tracked.attempts = 0

    def kill_all(self) -> None:
        """End every sampler that still runs, unread: the recording is over."""
        for _, sampler in self._running.values():
            sampler.kill()
        self._running.clear()

    def read(self, tracked: TrackedProcess) -> None:
        """Take what its samplers have said since the last call."""
        for sampler in list(tracked.samplers):
            if not sampler.is_over:
                self.read_sampler(tracked, sampler)

    def read_sampler(self, tracked: TrackedProcess, sampler: AustinProcess) -> None:
        """Take what one sampler has said, or note its end."""
        had_samples = sampler.has_samples
        goes_on = sampler.read()
        if sampler.has_samples and not had_samples:
            self._first_sample(tracked, sampler)
        if not goes_on:
            self._take_leave(tracked, sampler)

    def sampler_ended(self, pid: int) -> None:
        """Read the last of a sampler that has ended, and reap it. Nobody else may hold its terminal open
        for ever, so what is not there now is not waited for.
        """
        tracked, sampler = self._running[pid]
        try:
            self.read_sampler(tracked, sampler)
        finally:
            if not sampler.is_over:
                self._take_leave(tracked, sampler)

    def _take_leave(self, tracked: TrackedProcess, sampler: AustinProcess) -> None:
        if not sampler.has_samples:
            self._on_first_sample(tracked)
        self._forget(sampler)
        reason = sampler.exit_meaning()
        sampler.close()
        self._ended(tracked, reason)

    def _start(self, tracked: TrackedProcess, interval_us: int) -> bool:
        assert self._austin is not None
        tracked.attempts += 1
        tracked.attached_us = self._elapsed_us()
        try:
            sampler = AustinProcess(self._austin, tracked.pid, interval_us)
        except OSError as error:
            tracked.reasons.append(f"austin could not be started: {error.strerror}")
            return False
        tracked.samplers.append(sampler)
        tracked.process = replace(tracked.process, requested_interval_us=interval_us)
        self._running[sampler.process.pid] = (tracked, sampler)
        self._selector.register(
            sampler.fd, selectors.EVENT_READ, lambda: self.read_sampler(tracked, sampler)
        )
        return True

    def _first_sample(self, tracked: TrackedProcess, sampler: AustinProcess) -> None:
        # Only the first line is waited for: waking up for each one would cost more than austin.
        self._watch_no_longer(sampler)
        self._on_first_sample(tracked)
        tracked.attempts = 0
        if tracked.interruption is not None:
            if tracked.clock_samples:
                lost = AWAY if tracked.interruption == ASLEEP else f"{tracked.interruption} midway"
                tracked.reasons.append(f"{lost}; attached again")
            tracked.interruption = None
        for older in tracked.samplers:
            if older is not sampler and not older.is_over:
                self._stop_sampler(older)

    def _tend_rate(
        self, tracked: TrackedProcess, sampler: AustinProcess, now: int, live: int
    ) -> None:
        since_us = now - tracked.attached_us
        if since_us <= FINE_FOR_US:
            return
        stat = procfs.read_stat(sampler.process.pid)
        spent_us = 0 if stat is None else stat.cpu_us
        wanted = self._budget.interval_us(
            sampler.interval_us, share=spent_us / since_us, live=live, now_us=now
        )
        if tracked.is_busy and sampler in self._glancing:
            self._glancing.discard(sampler)
            sampler.wake()
        elif not tracked.is_busy and (
            sampler in self._glancing or (wanted > sampler.interval_us and now >= SETTLED_US)
        ):
            # While it sleeps no new sampler finds its way in, and its stacks hardly change.
            self._glance(tracked, sampler)
        elif wanted > sampler.interval_us and tracked.is_busy and now >= tracked.next_rate_us:
            tracked.next_rate_us = now + RATE_AGAIN_US
            self._start(tracked, wanted)

    def _glance(self, tracked: TrackedProcess, sampler: AustinProcess) -> None:
        """Have a sampler that looks too often look once, now."""
        self._glancing.add(sampler)
        if not sampler.is_resting:
            sampler.rest()
            return
        sampler.wake()
        self._watch_no_longer(sampler)
        self._selector.register(
            sampler.fd, selectors.EVENT_READ, lambda: self._glanced(tracked, sampler)
        )

    def _glanced(self, tracked: TrackedProcess, sampler: AustinProcess) -> None:
        self._watch_no_longer(sampler)
        self.read_sampler(tracked, sampler)
        if not sampler.is_over and sampler in self._glancing:
            sampler.rest()

    def _give_up_search(self, tracked: TrackedProcess, running: list[AustinProcess]) -> None:
        self._stop_sampler(running[-1])
        self._on_first_sample(tracked)
        if len(running) == 1:
            tracked.interruption = ASLEEP
            tracked.attempts = 0
            tracked.next_attempt_us = self._elapsed_us() + ASLEEP_AGAIN_US
            tracked.is_busy = False

    def _ended(self, tracked: TrackedProcess, reason: str) -> None:
        stat = procfs.read_stat(tracked.pid)
        target_lives = (
            tracked.is_alive
            and stat is not None
            and not stat.has_ended
            and stat.start_ticks == tracked.start_ticks
        )
        if not target_lives:
            return
        if tracked.attempts <= len(RETRY_AFTER_US):
            wait_us = RETRY_AFTER_US[max(0, tracked.attempts - 1)]
            tracked.next_attempt_us = self._elapsed_us() + wait_us
            tracked.interruption = reason
        else:
            tracked.reasons.append(f"{reason} ({tracked.attempts} attempts)")

    def _stop_sampler(self, sampler: AustinProcess) -> None:
        self._forget(sampler)
        sampler.stop()

    def _forget(self, sampler: AustinProcess) -> None:
        """Count what a sampler that is about to end cost, and wait for nothing of it."""
        self._running.pop(sampler.process.pid, None)
        self._glancing.discard(sampler)
        self._watch_no_longer(sampler)
        stat = procfs.read_stat(sampler.process.pid)
        if stat is not None:
            self.cpu_us += stat.cpu_us

    def _watch_no_longer(self, sampler: AustinProcess) -> None:
        # A sampler may be looked for by its first line and for a single look at once, or by neither.
        if sampler.fd in self._selector.get_map():
            self._selector.unregister(sampler.fd)


def _most_samplers() -> int:
    by_processes = most_beside_the_training()
    return min(_most_by_files(), MAX_SAMPLERS if by_processes is None else by_processes)


def _most_by_files() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_SAMPLERS
    # Each live process has a mailbox, which is a descriptor as well.
    return max(0, min(MAX_SAMPLERS, (soft - DESCRIPTORS_KEPT) // 2))
