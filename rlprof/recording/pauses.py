"""Leave time out in which the run was stopped, and mark time in which rlprof alone was."""

from __future__ import annotations

import time
from collections.abc import Callable

from rlprof.model.recording import Note
from rlprof.recording.attaching import Attacher
from rlprof.recording.census import Census
from rlprof.recording.clock import Pause, RunClock
from rlprof.recording.escort import Escort
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
        self.notes: list[Note] = []
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
        self.notes.append(_paused_note(self._clock.at(pause.since_s), pause))
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
        self.notes.append(_unwatched_note(self._clock.at(since_s), time.monotonic() - since_s))
        self._close_window(self._clock.now_us())
        self._go_on()

    def _pids(self) -> list[int]:
        return [tracked.pid for tracked in self._census.live()]


def _paused_note(at_us: int, pause: Pause) -> Note:
    """``at_us`` is the run's own time at which it was stopped."""
    length_us = round((pause.until_s - pause.since_s) * 1e6)
    return Note(
        "info",
        "run-paused",
        f"The run stood still for {duration(length_us)}, {duration(at_us)} after its start: stopped by a signal or "
        "a scheduler, or, as rlprof itself, without any core. That time is left out of all figures.",
    )


def _unwatched_note(at_us: int, length_s: float) -> Note:
    return Note(
        "warning",
        "recorder-stopped",
        f"rlprof itself was stopped for {duration(round(length_s * 1e6))}, {duration(at_us)} after the run's "
        "start, while the training went on: of that time steps, CPU time and the stack probe alone tell.",
    )
