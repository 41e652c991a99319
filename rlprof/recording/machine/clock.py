"""The run's own time: it stands still while the whole run is stopped."""

from __future__ import annotations

import time
from typing import NamedTuple


class Pause(NamedTuple):
    """A stretch in which nothing of the run ran, by ``CLOCK_MONOTONIC`` (seconds)."""

    since_s: float
    until_s: float


class RunClock:
    """Microseconds since the start of the run, without its pauses."""

    def __init__(self) -> None:
        self._start_s = time.monotonic()
        self.pauses: list[Pause] = []

    def now_us(self) -> int:
        return self.at(time.monotonic())

    def at(self, monotonic_s: float) -> int:
        """The run's time (µs) at a moment of the monotonic clock; within a pause that of its begin."""
        stood_still = sum(
            min(pause.until_s, monotonic_s) - pause.since_s
            for pause in self.pauses
            if pause.since_s < monotonic_s
        )
        return round((monotonic_s - self._start_s - stood_still) * 1e6)

    def stood_still(self, since_s: float, until_s: float) -> Pause:
        """Leave the time between two moments of the monotonic clock out; pauses come in order, and what one has left out no other does."""
        if self.pauses:
            since_s = max(since_s, self.pauses[-1].until_s)
        pause = Pause(since_s, max(since_s, until_s))
        self.pauses.append(pause)
        return pause
