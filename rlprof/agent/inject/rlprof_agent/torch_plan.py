"""When to take a window of torch's profiler in this process."""

from __future__ import annotations

from . import layout

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Optional

_S = 1_000_000_000

WARM_UP_UPDATES = 20
"""Updates before the first window: memory is allocated, code compiled, caches filled by then."""

BEGIN_AFTER_S = (5, 15, 30)
"""Seconds since the first update, for each window."""

WITHOUT_UPDATES_S = (10, 20, 40)
"""Seconds since torch was first seen at work, where no optimizer steps."""

MOST_COST = 0.01
"""Part of the time since then that windows may have cost before a further one begins."""

ALWAYS_UPDATES = 3
ALWAYS_S = (0, 0.5, 1)
ALWAYS_WITHOUT_UPDATES_S = (1, 2, 3)
"""The same for ``--torch always``, which suits programs that end after seconds."""

BURST_GAP = 5
"""Times the usual gap between updates that ends a burst of them: a rollout lies between."""


class WindowPlan:
    """Decides from the updates seen so far; knows nothing of torch."""

    def __init__(self, *, always: bool) -> None:
        self._always = always
        self._first_ns = 0
        self._last_ns = 0
        self._updates = 0
        self._usual_gap_ns = 0.0
        self._in_burst = 1
        self._bursts = (0, 0)
        """Updates in the last two."""
        self._taken = 0
        self._cost_ns = 0

    def updated(self, now_ns: int) -> None:
        """An optimizer has made a step."""
        self._updates += 1
        if self._updates == 1:
            self._first_ns = now_ns
        else:
            self._follow_bursts(now_ns - self._last_ns)
        self._last_ns = now_ns

    def asleep_until(self) -> int:
        """The time until which :meth:`passed` will do: bursts matter for the last window alone."""
        if self._always or not self._updates or self._taken >= 2:
            return 0
        return self._first_ns + BEGIN_AFTER_S[self._taken] * _S

    def passed(self, now_ns: int) -> None:
        """An optimizer has made a step that need not be looked at."""
        self._updates += 1
        self._last_ns = now_ns

    def due_at_update(self, now_ns: int) -> Optional[int]:
        """The kind of the window that should begin right after an update; None for not yet."""
        after = ALWAYS_S if self._always else BEGIN_AFTER_S
        if not self._is_time(now_ns - self._first_ns, after):
            return None
        if self._updates < (ALWAYS_UPDATES if self._always else WARM_UP_UPDATES):
            return None
        if self._taken == 1:
            return layout.WINDOW_STACKS
        before, last = self._bursts
        # A pause now and then makes no bursts: those of PPO are of one length.
        if self._taken == 2 and before == last > 1:
            return layout.WINDOW_ROLLOUT if self._in_burst == max(1, last - 2) else None
        return layout.WINDOW_PLAIN

    def due_without_updates(self, now_ns: int) -> Optional[int]:
        """The same for a moment at which torch is at work, in a program that never updates."""
        if self._updates:
            return None
        if not self._first_ns:
            self._first_ns = now_ns
        after = ALWAYS_WITHOUT_UPDATES_S if self._always else WITHOUT_UPDATES_S
        return layout.WINDOW_TIMED if self._is_time(now_ns - self._first_ns, after) else None

    def taken(self, cost_ns: int) -> int:
        """A window has ended, and cost this much; the number of the next."""
        self._cost_ns += cost_ns
        self._taken += 1
        # The window is no gap between updates.
        self._last_ns += cost_ns
        return self._taken

    def _is_time(self, since_first_ns: int, after_s: tuple[float, ...]) -> bool:
        if self._taken >= layout.MAX_WINDOWS or since_first_ns < after_s[self._taken] * _S:
            return False
        return self._always or self._cost_ns <= MOST_COST * since_first_ns

    def _follow_bursts(self, gap_ns: int) -> None:
        if self._usual_gap_ns and gap_ns > BURST_GAP * self._usual_gap_ns:
            self._bursts = (self._bursts[1], self._in_burst)
            self._in_burst = 1
            return
        self._in_burst += 1
        weight = 1.0 if not self._usual_gap_ns else 0.1
        self._usual_gap_ns += weight * (gap_ns - self._usual_gap_ns)
