"""Notice that the run stood still, or that we did while it went on."""

from __future__ import annotations

import time
from collections.abc import Iterable
from enum import Enum
from typing import Final

from rlprof.recording.machine import procfs
from rlprof.recording.program.escort import Escort

LONG_GAP_S: Final = 2.0
"""Between two turns of the recorder, which make several a second, without SIGCONT: a frozen control group
tells nobody. A crowded machine makes us wait as well, but then the run has had some of its CPU time."""

SHORT_GAP_S: Final = 0.5
"""After SIGCONT; shorter ones are not worth a mark."""

STILL_SHARE: Final = 0.01
"""Share of a gap: with less CPU time of all processes together the run stood still."""

LEEWAY: Final = 1.5
"""By which a run may have used more right before a gap than earlier."""


class Gap(Enum):
    """The way in which the time since the last turn passed."""

    NONE = "none"
    STOOD_STILL = "stood still"
    UNWATCHED = "unwatched"
    """The run went on without us."""


class StandstillWatch:
    """Judges the time between two turns of the recorder."""

    def __init__(self, escort: Escort) -> None:
        self._escort = escort
        self._last_s = self._judged_s = time.monotonic()
        self._own_cpu_s = time.process_time()
        """Our own at that moment."""
        self._cpu_us: dict[int, int] = {}
        self._noted_s = self._last_s
        self._cores = 0.0
        """That the run used between the last two notes of its CPU time."""
        self._stops = 0
        """How often the target had been stopped or continued by the last turn."""

    @property
    def last_s(self) -> float:
        """The moment at which we were last known to run (monotonic clock)."""
        return self._last_s

    def judge(self, pids: Iterable[int]) -> Gap:
        """Judge the time before this turn, right after its signals were handled; ``pids`` are those of the run."""
        self._judged_s = time.monotonic()
        gap_s = self._judged_s - self._last_s
        continued, self._escort.was_continued = self._escort.was_continued, False
        if gap_s < (SHORT_GAP_S if continued else LONG_GAP_S):
            return Gap.NONE
        gap = self._kind_of(gap_s, pids, continued=continued)
        if gap is not Gap.NONE:
            # Told now: neither another SIGCONT within this turn nor the turn itself, should it take long, tells it again.
            self._known_to_run(self._judged_s)
        return gap

    def _kind_of(self, gap_s: float, pids: Iterable[int], *, continued: bool) -> Gap:
        if self._target_was_stopped():
            return Gap.STOOD_STILL
        if continued:
            return Gap.UNWATCHED
        # Who has worked in a gap was not frozen: a turn in which dozens of processes are born may take long on full cores, and those nobody
        # knows of yet have no CPU time here.
        worked = time.process_time() - self._own_cpu_s >= STILL_SHARE * gap_s
        return Gap.STOOD_STILL if not worked and self._used_no_cpu(pids, gap_s) else Gap.NONE

    def turned(self) -> None:
        """A turn has ended. Within one that took long we were stopped, and the next one judges that."""
        now = time.monotonic()
        took_long = now - self._judged_s > LONG_GAP_S
        if not took_long and not self._escort.is_continued:
            self._known_to_run(now)

    def _known_to_run(self, now_s: float) -> None:
        self._last_s, self._own_cpu_s = now_s, time.process_time()
        self._stops = self._escort.target.stops

    def note_cpu(self, pids: Iterable[int]) -> None:
        """Remember what the processes of the run had used by now."""
        used_us, now_s = self._used_us(pids), time.monotonic()
        if now_s > self._noted_s:
            self._cores = used_us / 1e6 / (now_s - self._noted_s)
        self._noted_s = now_s
        self._cpu_us = {pid: cpu_us for pid in pids if (cpu_us := _cpu_us(pid)) is not None}

    def _target_was_stopped(self) -> bool:
        self._escort.follow_target()
        target = self._escort.target
        return target.stopped_at_s is not None or target.stops > self._stops

    def _used_no_cpu(self, pids: Iterable[int], gap_s: float) -> bool:
        # What was used before the gap, too, as much as between the notes before, or as a core at first.
        before_s = (self._cores or 1.0) * max(0.0, self._last_s - self._noted_s)
        return self._used_us(pids) < 1e6 * (STILL_SHARE * gap_s + LEEWAY * before_s)

    def _used_us(self, pids: Iterable[int]) -> int:
        """CPU time of the processes since it was noted; of those that have started since then, all of it."""
        return sum((_cpu_us(pid) or 0) - self._cpu_us.get(pid, 0) for pid in pids)


def _cpu_us(pid: int) -> int | None:
    stat = procfs.read_stat(pid)
    return None if stat is None else stat.cpu_us
