"""Leave time out in which the run was stopped, and mark time in which rlprof alone was."""

from __future__ import annotations

import time
from collections.abc import Callable

from rlprof.model.recording import Note
from rlprof.recording.attaching import Attacher
from rlprof.recording.census import Census
from rlprof.recording.machine.clock import RunClock
from rlprof.recording.program.escort import Escort
from rlprof.recording.standstill import Gap, StandstillWatch
from rlprof.units import duration


class PauseKeeper:
    """Follows the stops of one run. Samplers that stood still themselves are dropped, unread."""

    def __init__(
        self,
        clock: RunClock,
        escort: Escort,
        census: Census,
        attacher: Attacher,
        *,
        close_window: Callable[[int], None],
        go_on: Callable[[], None],
    ) -> None:
        """``close_window`` closes one at a time of the run (µs), ``go_on`` begins to sample again."""
        self._paused: list[tuple[int, int]] = []
        self._unwatched: list[tuple[int, int]] = []
        """Both: the run's own time at which it began, and its length (µs)."""
        self._clock = clock
        self._escort = escort
        self._census = census
        self._attacher = attacher
        self._close_window = close_window
        self._go_on = go_on
        self._watch = StandstillWatch(escort)
        self._since_s: float | None = None

    @property
    def is_on(self) -> bool:
        """The run is stopped: there is nothing to look at."""
        return self._since_s is not None

    def notes(self) -> list[Note]:
        """One remark of each kind at most: a scheduler that takes turns stops a job a thousand times."""
        notes = []
        if self._paused:
            notes.append(_paused_note(self._paused))
        if self._unwatched:
            notes.append(_unwatched_note(self._unwatched))
        return notes

    def notice(self) -> None:
        """Judge the time since the last turn, right after the signals of this one were handled."""
        last_s = self._watch.last_s
        gap = self._watch.judge(self._pids())
        if gap is Gap.STOOD_STILL:
            if not self.is_on:
                self._begin(last_s)
            if self._escort.target.stopped_at_s is None:
                self.end()
        elif gap is Gap.UNWATCHED:
            self._resume_after_gap(last_s)

    def follow_target(self) -> None:
        """The target may have been stopped or continued while we looked on."""
        stopped_at_s = self._escort.target.stopped_at_s
        if stopped_at_s is not None and not self.is_on:
            self._begin(stopped_at_s)
        elif stopped_at_s is None:
            self.end()

    def end(self) -> None:
        """Go on, if the run was stopped."""
        if self._since_s is None:
            return
        pause = self._clock.stood_still(self._since_s, time.monotonic())
        self._since_s = None
        length_us = round((pause.until_s - pause.since_s) * 1e6)
        self._paused.append((self._clock.at(pause.since_s), length_us))
        self._go_on()

    def turned(self) -> None:
        """A turn of the recorder has ended."""
        self._watch.turned()

    def window_closed(self) -> None:
        """Remember what the processes of the run had used by now."""
        self._watch.note_cpu(self._pids())

    def _begin(self, since_s: float) -> None:
        for tracked in self._census.live():
            self._attacher.drop(tracked)
        self._close_window(self._clock.at(since_s))
        self._since_s = since_s

    def _resume_after_gap(self, since_s: float) -> None:
        for tracked in self._census.live():
            self._attacher.drop(tracked)
            tracked.forget_clock()
        length_us = round((time.monotonic() - since_s) * 1e6)
        self._unwatched.append((self._clock.at(since_s), length_us))
        self._close_window(self._clock.now_us())
        self._go_on()

    def _pids(self) -> list[int]:
        return [tracked.pid for tracked in self._census.live()]


def _paused_note(stops: list[tuple[int, int]]) -> Note:
    return Note(
        "info",
        "run-paused",
        f"The run stood still {_how_long(stops)}: stopped by a signal or a scheduler, or, as rlprof itself, without "
        "any core. That time is left out of all figures.",
    )


def _unwatched_note(stops: list[tuple[int, int]]) -> Note:
    return Note(
        "warning",
        "recorder-stopped",
        f"rlprof itself was stopped {_how_long(stops)}, while the training went on: of that time steps, CPU time and "
        "the stack probe alone tell.",
    )


def _how_long(stops: list[tuple[int, int]]) -> str:
    """``stops``: when each began, on the run's clock, and its length (µs)."""
    first_us = stops[0][0]
    length = duration(sum(length_us for _, length_us in stops))
    if len(stops) == 1:
        return f"for {length}, {duration(first_us)} after the run's start"
    return (
        f"{len(stops)} times, for {length} in all, first {duration(first_us)} after the run's start"
    )
