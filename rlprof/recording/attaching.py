"""Keep one sampler attached to every process that should have one."""

from __future__ import annotations

import selectors
from collections.abc import Callable, Iterable
from dataclasses import replace

from rlprof.recording import procfs
from rlprof.recording.samplers.austin import Austin, AustinProcess
from rlprof.recording.tracked import TrackedProcess
from rlprof.settings import DEFAULT_INTERVAL_US

FINE_INTERVAL_US = 4_000
FINE_FOR_US = 4_000_000
"""A process is sampled finer at first while cores are free: short runs get samples enough."""

RETRY_AFTER_US = (50_000, 300_000, 1_000_000)
"""Waits between attempts to attach; after the last the process counts as unsampled."""

MAX_SAMPLERS = 128
"""More processes than these have only their stack probe: 2 MB and 1 to 2 % of a core each."""

MOST_CROWDED = 10
"""Processes per core from which on the rate falls no further: 10 Hz."""

PUT_OFF_US = 500_000
SHORT_LIVED = "those before it ended so soon that samplers wait until one has lived for 0.5 s"
"""Why such a process has no clock, should it end before then."""

FULL_AGAIN_US = 1_000_000
"""How long a process waits when all samplers are in use, before it is tried again."""


class Attacher:
    """Starts, renews and ends samplers. The first output of each arrives through the selector, the
    rest waits until :meth:`read`.
    """

    def __init__(
        self,
        austin: Austin | None,
        selector: selectors.BaseSelector,
        *,
        interval_us: int | None,
        usable_cores: float,
        elapsed_us: Callable[[], int],
        on_first_sample: Callable[[TrackedProcess], None],
    ) -> None:
        self._austin = austin
        self._selector = selector
        self._interval_us = interval_us
        self._usable_cores = usable_cores
        self._elapsed_us = elapsed_us
        self._on_first_sample = on_first_sample
        self._attached = 0
        self.cpu_us = 0
        """CPU time of all samplers that have ended."""

    def attach(self, tracked: TrackedProcess, *, live: int) -> bool:
        """Begin to sample; ``live`` processes share the machine. False when nothing was started."""
        if self._austin is None or tracked.process.fate == "left-out":
            return False
        if self._attached >= MAX_SAMPLERS:
            tracked.interruption = f"more than {MAX_SAMPLERS} processes at once"
            tracked.next_attempt_us = self._elapsed_us() + FULL_AGAIN_US
            return False
        return self._start(tracked, self._first_interval_us(live))

    def put_off(self, tracked: TrackedProcess) -> None:
        """Attach only once the process has shown that it lives for longer than those before it."""
        tracked.interruption = SHORT_LIVED
        tracked.next_attempt_us = self._elapsed_us() + PUT_OFF_US

    def tend(self, tracked: TrackedProcess, *, live: int) -> None:
        """What is due for this process: a retry, or the ordinary rate."""
        now = self._elapsed_us()
        if tracked.next_attempt_us is not None and now >= tracked.next_attempt_us:
            tracked.next_attempt_us = None
            self.attach(tracked, live=live)
        elif len(tracked.samplers) == 1 and not tracked.samplers[0].is_over:
            self._tend_sampler(tracked, tracked.samplers[0], now, live)

    def stop(self, tracked: TrackedProcess) -> None:
        """End its samplers; what they still had to say is folded by the next window."""
        for sampler in tracked.samplers:
            if not sampler.is_over:
                self._stop_sampler(sampler)
        tracked.next_attempt_us = None

    def kill_all(self, processes: Iterable[TrackedProcess]) -> None:
        """End every sampler that still runs, unread: the recording is over."""
        for tracked in processes:
            for sampler in tracked.samplers:
                sampler.kill()

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
        if goes_on:
            return
        if not sampler.has_samples:
            self._selector.unregister(sampler.fd)
            self._on_first_sample(tracked)
        self._note_cpu(sampler)
        reason = sampler.exit_meaning()
        sampler.close()
        self._attached -= 1
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
        self._attached += 1
        self._selector.register(
            sampler.fd, selectors.EVENT_READ, lambda: self.read_sampler(tracked, sampler)
        )
        return True

    def _first_sample(self, tracked: TrackedProcess, sampler: AustinProcess) -> None:
        # Only the first line is waited for: waking up for each one would cost more than austin.
        self._selector.unregister(sampler.fd)
        self._on_first_sample(tracked)
        tracked.attempts = 0
        if tracked.interruption is not None:
            if tracked.clock_samples:
                tracked.reasons.append(f"{tracked.interruption} midway; attached again")
            tracked.interruption = None
        for older in tracked.samplers:
            if older is not sampler and not older.is_over:
                self._stop_sampler(older)

    def _tend_sampler(
        self, tracked: TrackedProcess, sampler: AustinProcess, now: int, live: int
    ) -> None:
        wanted = self._interval_us or self._shared_interval_us(live)
        # While it sleeps no new sampler finds its way in, and both would run on.
        is_due = now - tracked.attached_us > FINE_FOR_US and tracked.is_busy
        if 2 * sampler.interval_us <= wanted and is_due:
            self._start(tracked, wanted)

    def _first_interval_us(self, live: int) -> int:
        if self._interval_us is not None:
            return self._interval_us
        if live < self._usable_cores:
            return FINE_INTERVAL_US
        return self._shared_interval_us(live)

    def _shared_interval_us(self, live: int) -> int:
        """The default for as many processes as cores; with more, the cores are shared out.

        A process that gets a quarter of a core tells as much at a quarter of the rate, and eight
        samplers at 10 ms on two cores took 6 % of them.
        """
        crowd = min(MOST_CROWDED, max(1, round(live / self._usable_cores)))
        return DEFAULT_INTERVAL_US * crowd

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
            wait_us = RETRY_AFTER_US[tracked.attempts - 1]
            tracked.next_attempt_us = self._elapsed_us() + wait_us
            tracked.interruption = reason
        else:
            tracked.reasons.append(f"{reason} ({tracked.attempts} attempts)")

    def _stop_sampler(self, sampler: AustinProcess) -> None:
        if not sampler.has_samples:
            self._selector.unregister(sampler.fd)
        self._note_cpu(sampler)
        sampler.stop()
        self._attached -= 1

    def _note_cpu(self, sampler: AustinProcess) -> None:
        stat = procfs.read_stat(sampler.process.pid)
        if stat is not None:
            self.cpu_us += stat.cpu_us
