"""Choose when to take windows of torch's profiler in this process, and how long each may be."""

from __future__ import annotations

from . import layout

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Optional

_MS = 1_000_000
_S = 1000 * _MS

WARM_UP_UPDATES = 20
"""Updates before the first window: memory is allocated, code compiled, caches filled by then."""

BEGIN_AFTER_S = (5, 15, 30)
"""Seconds since the first update, for each window."""

WITHOUT_UPDATES_S = (10, 20, 40)
"""Seconds since torch was first seen at work, where no optimizer steps."""

MOST_COST = 0.01
"""Part of the time since then that all windows together may take, the next one included."""

AT_ONCE_NS = 500 * _MS
"""Longest that a window may take, from its start to the end of its export."""

FIRST_NS = 10 * _MS
"""Recorded by the first, which tells what the others cost: at most some 2 000 operations."""

WORST_AFTER = 2.5
"""Times the recorded time that stopping and exporting take for the smallest operations (measured:
1.7). Large ones take next to nothing."""

STACKS_AFTER = 3.0
"""Times as much with stacks and shapes (measured: 2.3)."""

STACKS_SLOWER = 2.0
"""Times as long as in a plain window that an update takes with them."""

ROOM = 1.25
"""Times what an update took that must be affordable before a window begins."""

ROLLOUT_NS = 50 * _MS
"""Time of a rollout that must be affordable before its window begins."""

ALWAYS_UPDATES = 3
ALWAYS_S = (0, 0.5, 1)
ALWAYS_WITHOUT_UPDATES_S = (1, 2, 3)
"""The same for ``--torch always``, which suits programs that end after seconds. ``MOST_COST`` does not
hold for it."""

RETRY_NS = 100 * _MS
"""After a window that was due and could not begin, until the next is: looking costs as much as a small operation
of torch's, and neither time nor the recorder's answer comes between two updates."""

BURST_GAP = 5
"""Times the usual gap between updates that ends a burst of them: a rollout lies between."""


class WindowPlan:
    """Decides from the updates and the windows seen so far; knows nothing of torch."""

    def __init__(self, *, always: bool) -> None:
        self._always = always
        self._first_ns = 0
        self._last_ns = 0
        self._retry_ns = 0
        """The time before which no window is due."""
        self._updates = 0
        self._usual_gap_ns = 0.0
        self._in_burst = 1
        self._bursts = (0, 0)
        """Updates in the last two."""
        self._taken = 0
        self._has_stacks = False
        self._spent_ns = 0
        self._start_ns = 0
        """Time of the cheapest start so far: the first may load a library."""
        self._after = 0.0
        """Stopping and exporting, as a multiple of the recorded time."""
        self._update_ns = 0.0
        """An update in a plain window; 0 as long as none had a whole one."""

    def updated(self, now_ns: int) -> None:
        """An optimizer has made a step."""
        self._updates += 1
        if self._updates == 1:
            self._first_ns = now_ns
        elif self._taken >= layout.MAX_WINDOWS - 1:
            # They matter for the last window alone.
            self._follow_bursts(now_ns - self._last_ns)
        self._last_ns = now_ns

    def refused(self, now_ns: int) -> None:
        """A window that was due could not begin."""
        if not self._always:
            self._retry_ns = now_ns + RETRY_NS

    def asleep_until(self) -> int:
        """The time until which no window is due at an update."""
        if self._always or not self._updates or self._taken >= layout.MAX_WINDOWS:
            return 0
        return max(self._retry_ns, self._first_ns + BEGIN_AFTER_S[self._taken] * _S)

    def due_at_update(self, now_ns: int) -> Optional[int]:
        """The kind of the window that should begin right after an update; None for not yet."""
        after = ALWAYS_S if self._always else BEGIN_AFTER_S
        if not self._is_time(now_ns, after) or now_ns < self._retry_ns:
            return None
        if self._updates < (ALWAYS_UPDATES if self._always else WARM_UP_UPDATES):
            return None
        is_last = self._taken == layout.MAX_WINDOWS - 1
        if not self._has_stacks and (self._update_ns or is_last):
            return layout.WINDOW_STACKS
        before, last = self._bursts
        # A pause now and then makes no bursts: those of PPO are of one length.
        if is_last and before == last > 1:
            return layout.WINDOW_ROLLOUT if self._in_burst == max(1, last - 2) else None
        return layout.WINDOW_PLAIN

    def due_without_updates(self, now_ns: int) -> Optional[int]:
        """The same for a moment at which torch is at work, in a program that never updates."""
        if self._updates:
            return None
        if not self._first_ns:
            self._first_ns = now_ns
        after = ALWAYS_WITHOUT_UPDATES_S if self._always else WITHOUT_UPDATES_S
        return layout.WINDOW_TIMED if self._is_time(now_ns, after) else None

    def longest_ns(self, kind: int, now_ns: int) -> int:
        """The time that a window which begins now may record; 0 for none that would be of use."""
        allowed = AT_ONCE_NS
        if not self._always:
            since_first = now_ns - self._first_ns
            allowed = min(allowed, round(MOST_COST * since_first) - self._spent_ns)
        if not self._taken:
            longest = round(allowed / (1 + WORST_AFTER))
            return longest if self._always else min(FIRST_NS, longest)
        after, update_ns = self._after, self._update_ns
        if kind == layout.WINDOW_STACKS:
            after, update_ns = STACKS_AFTER * after, STACKS_SLOWER * update_ns
        longest = round((allowed - min(self._start_ns, AT_ONCE_NS // 2)) / (1 + after))
        # Of an update that is longer than any window may be, a part is better than nothing.
        is_enough = longest >= self._least_ns(kind, update_ns) or allowed == AT_ONCE_NS
        return max(0, longest) if is_enough else 0

    def taken(
        self, kind: int, *, updates: int, start_ns: int, recorded_ns: int, after_ns: int
    ) -> int:
        """A window has ended, and took this long; the number of the next."""
        whole_ns = start_ns + recorded_ns + after_ns
        self._spent_ns += whole_ns
        self._start_ns = min(self._start_ns or start_ns, start_ns)
        if kind == layout.WINDOW_STACKS:
            self._has_stacks = True
        else:
            self._after = max(self._after, after_ns / max(1, recorded_ns))
            if updates and kind == layout.WINDOW_PLAIN:
                self._update_ns = max(self._update_ns, recorded_ns / updates)
        self._taken += 1
        # The window is no gap between updates.
        self._last_ns += whole_ns
        return self._taken

    def _is_time(self, now_ns: int, after_s: tuple[float, ...]) -> bool:
        return (
            self._taken < layout.MAX_WINDOWS
            and now_ns - self._first_ns >= after_s[self._taken] * _S
        )

    def _least_ns(self, kind: int, update_ns: float) -> float:
        """The shortest window of a kind that is of use."""
        if kind == layout.WINDOW_TIMED:
            return FIRST_NS
        if not update_ns:
            # In no window was there room for a whole one. Rollouts are in this, too: it is no less.
            update_ns = (self._last_ns - self._first_ns) / max(1, self._updates - 1)
        return ROOM * update_ns + (ROLLOUT_NS if kind == layout.WINDOW_ROLLOUT else 0)

    def _follow_bursts(self, gap_ns: int) -> None:
        if self._usual_gap_ns and gap_ns > BURST_GAP * self._usual_gap_ns:
            self._bursts = (self._bursts[1], self._in_burst)
            self._in_burst = 1
            return
        self._in_burst += 1
        weight = 1.0 if not self._usual_gap_ns else 0.1
        self._usual_gap_ns += weight * (gap_ns - self._usual_gap_ns)
