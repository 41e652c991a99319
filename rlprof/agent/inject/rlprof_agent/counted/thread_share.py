"""How many of the calls that are counted other threads make than the first, whose turns tell of its own alone."""

from __future__ import annotations

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from ..counters import EventCounter

WINDOW_TURNS = 200
"""Turns of the first thread after which it is told."""
_FEW = 0.01
"""Part of the calls, made by other threads, up to which the first one's turns do not heed them: a thread that shows the policy twenty times a second had each
call looked at, and took an eighth of the first one's time for good."""


class ThreadShare:
    """Told from what calls in other threads count down (``EventCounter.left``)."""

    def __init__(self, counter: EventCounter, calls: list[int]) -> None:
        self._counter, self._calls = counter, calls
        self._left = 0
        """What their calls count down, at the last turn, or when it was last set."""
        self._turns, self._theirs, self._before = 0, 0, 0
        """Turns of this window, calls of other threads in them, and all calls before it."""
        self._are_few = False

    @property
    def is_heeded(self) -> bool:
        """True if other threads make more than a few of the calls, as far as is known."""
        return bool(self._counter.is_elsewhere and not self._are_few)

    def leave(self, calls: int) -> None:
        """Have so many calls of theirs made until they tell of them."""
        self._theirs += max(0, self._left - self._counter.left[0])
        self._counter.left[0] = self._left = calls

    def turn(self) -> None:
        """A turn has ended. Of none in a window it is taken that there will be none."""
        self.leave(self._counter.left[0])
        if not self._turns:
            self._before = self._calls[0]
        self._turns += 1
        if self._turns < WINDOW_TURNS:
            return
        self._are_few = 0 < self._theirs <= _FEW * (self._calls[0] - self._before)
        self._counter.is_elsewhere = self._theirs > 0
        self._turns = self._theirs = 0
