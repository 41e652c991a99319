"""Calls that no turn tells of, made by threads, or by the main thread while no stacks are taken of it: counted directly once some were looked at, and
all looked at anew after many.
"""

from __future__ import annotations

from .. import foreign_errors
from ..counters import FIRST_THREAD, TAKES_TURNS
from ..real import time
from ..stand_ins import after, replace
from .call_costs import rarer_after
from .part_time import DIRECT, MOST_COST, PartTime, is_enrolled, thread_begins

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Optional

    from ..counters import EventCounter

_LOOKED_AT = 1_000
"""Outermost calls that tell which functions are."""
_FEWEST_DIRECT, _DIRECT, _AGAIN_NS = 20_000, 200_000, 500_000_000
"""Calls until that is looked at anew, and the time they are to take: a program may wrap its environments in another way by then."""


_STARTS = ("_start_new_thread", "_start_joinable_thread")
"""What ``threading`` starts a thread by: until Python 3.12, and from 3.13 on."""


def watch_starts(module: ModuleType) -> None:
    """``module`` is ``threading``: have calls counted where a thread begins, for the main thread may wait for it."""
    own: Any = module
    for name in _STARTS:
        original = getattr(own, name, None)
        if original is not None:
            replace(own, name, after(thread_begins, original))


class ThreadTurns:
    """Has the looks of a :class:`PartTime` left out where threads make its calls, and each look takes too long."""

    def __init__(self, turns: PartTime, counter: EventCounter) -> None:
        self._turns, self._counter = turns, counter
        turns.has_thread_turns = True
        self._begun: Optional[tuple[int, int, int]] = None
        """The thread of which calls are timed, its CPU time in ns, and all calls by then."""
        counter.in_thread = self.called

    def called(self, thread: int) -> None:
        """So many calls as ``counter.left`` said were made in threads, the last one in ``thread``; in 0 where one was not seen before."""
        try:
            self._counter.is_elsewhere |= thread not in (0, FIRST_THREAD)
            self._look(thread)
        except Exception as error:
            # We are in the midst of the program's own call.
            foreign_errors.pass_on(error)
            self._wait()

    def _look(self, thread: int) -> None:
        has_no_turns = self._counter.is_elsewhere or not thread or thread != TAKES_TURNS[0]
        if not (is_enrolled(self._turns) and has_no_turns):
            self._wait()
        elif self._turns.way == DIRECT and self._begun is not None and thread:
            # A turn of the main thread has come first: these are calls that were counted directly since.
            self._wait()
        elif self._turns.way == DIRECT:
            self._turns.begin()
            self._begin(thread)
        elif self._begun is None or self._begun[0] != thread:
            self._begin(thread)
        else:
            _, begun_ns, before = self._begun
            own_ns = time.thread_time_ns() - begun_ns
            looked_ns = self._turns.looking_ns(self._counter.calls[0] - before)
            if looked_ns > MOST_COST * own_ns and self._turns.is_clear:
                self._turns.count_directly()
            self._wait(own_ns / _LOOKED_AT)

    def _begin(self, thread: int) -> None:
        self._begun = thread, time.thread_time_ns(), self._counter.calls[0]
        self._turns.threads.leave(_LOOKED_AT)

    def _wait(self, call_ns: float = 0.0) -> None:
        """Until the next look, at calls that take so long each, as far as is known."""
        self._begun = None
        calls = min(_DIRECT, max(_FEWEST_DIRECT, _AGAIN_NS / call_ns)) if call_ns else _DIRECT
        self._turns.threads.leave(round(calls * rarer_after(self._turns.changes)))
