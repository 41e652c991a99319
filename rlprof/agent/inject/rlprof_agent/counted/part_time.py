"""Calls that are counted in a part of the time, where counting them all would cost the program too much.

A turn lasts from one stack of the probe to the next. In most turns nothing of ours is there, and what is counted goes on at the
pace of the last turn in which it was: all calls of the method by the least that can count them, or, now and then, with a look
at where each call comes from. When the next of these comes is drawn, so that no rhythm of the program's can hide in between.
"""

from __future__ import annotations

from ..real import time

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

    from ..counters import Counter

MOST_COST = 0.01
"""Of the program's own CPU time."""
LOOKING = 4.0
"""What a call costs with a look at where it comes from, for one without: 0.25 to 0.41 to 0.08 to 0.11 µs, Python 3.11."""
_ONE_LOOKS = 4
"""Of so many turns that are counted."""
_ON_AVERAGE = (LOOKING + _ONE_LOOKS - 1) / _ONE_LOOKS
_MOST_TURNS = 200
"""One of so many at least is counted."""
_OF_THE_LAST = 0.2
"""What the last turn weighs in a mean."""
_TRIALS, _CALLS = 3, 200

AWAY, BRIEF, LOOKS = range(3)
"""How calls are counted in a turn: not, all of them, those from certain places."""


class PartTime:
    """``parts`` are ``put`` to count in a way, and have what they counted: steps go to the counter where it is known whose they are."""

    def __init__(self, counter: Counter, call_ns: float) -> None:
        """``call_ns``: CPU time that a call takes longer when it is counted in brief."""
        self.parts: list[Any] = []
        self.way = LOOKS
        self._counter = counter
        self._call_ns = call_ns
        self._is_whole = False
        """Whether this turn is counted from its beginning on."""
        self._seen = (0, 0)
        self._wanted = 0.0
        """How many turns there should be for each that is counted; up to 1 for all."""
        self._pace = 0.0
        """Steps in a ns of the program's own."""
        self._inside, self._all = 1.0, 1.0
        """Calls that were steps, of those whose place was looked at; the last ones weigh most."""
        self._left = 0
        """Turns until the next that is counted."""
        self._until_look = 0
        self._owed = 0.0
        self._drawn = 1

    def begin(self) -> None:
        """Count all calls from here on: nobody has told of turns, or the last one was cut."""
        self._put(LOOKS)
        self._is_whole = False

    def turn(self, own_ns: int) -> None:
        """A turn has ended in which the thread had so much CPU time."""
        before = self._seen
        if self.way == AWAY:
            self._add(own_ns * self._pace)
            self._left -= 1
            if self._left <= 0:
                self._put_next()
        elif not self._is_whole:
            self._is_whole = True
        elif self._size() and own_ns > 0:
            steps, calls = self._counts()
            self._learn(steps - before[0], calls - before[1], own_ns)
            self._left = round(self._draw() * 2 * (min(self._wanted, _MOST_TURNS) - 1))
            if self._left > 0:
                self._put(AWAY)
            else:
                self._put_next()
        self._seen = self._counts()

    def _learn(self, steps: int, calls: int, own_ns: int) -> None:
        """From what was counted in a turn: ``steps`` are in the counter, ``calls`` were counted beside it."""
        size = self._size()
        if self.way == LOOKS:
            made = steps / size
            self._inside += _OF_THE_LAST * (made - self._inside)
            self._all += _OF_THE_LAST * (made + calls - self._all)
            calls += round(made)
        else:
            made = calls * self._inside / self._all * size
            self._add(made)
            self._pace = made / max(own_ns - calls * self._call_ns, 0.1 * own_ns)
        if calls > 0:
            wanted = calls * self._call_ns * _ON_AVERAGE / own_ns / MOST_COST
            self._wanted += (_OF_THE_LAST if self._wanted else 1.0) * (wanted - self._wanted)

    def _put_next(self) -> None:
        self._until_look = (self._until_look or _ONE_LOOKS) - 1
        is_dear = self._wanted * LOOKING / _ON_AVERAGE > 1
        self._put(BRIEF if self._until_look and is_dear else LOOKS)
        self._is_whole = True

    def _put(self, way: int) -> None:
        if self.way != way:
            self.way = way
            for part in self.parts:
                part.put(way)

    def _add(self, steps: float) -> None:
        self._owed += steps
        self._counter.cell[0] += int(self._owed)
        self._owed -= int(self._owed)

    def _counts(self) -> tuple[int, int]:
        return self._counter.cell[0], sum(part.calls[0] for part in self.parts)

    def _size(self) -> int:
        """Steps of a call; 0 before any was seen."""
        return max((part.size for part in self.parts), default=0)

    def _draw(self) -> float:
        """From 0 to 1; not by ``random``, whose state is the program's."""
        self._drawn = self._drawn * 1_103_515_245 + 12_345 & 0x7FFF_FFFF
        return self._drawn / 0x7FFF_FFFF


def cost_of_a_call(bare: Any, counted: Any) -> float:
    """CPU time in ns by which the one takes longer than the other; both are called with two arguments."""
    return max(0.0, _least_ns(counted) - _least_ns(bare)) / _CALLS


def _least_ns(function: Any) -> float:
    least = float("inf")
    for _ in range(_TRIALS):
        begun = time.thread_time_ns()
        for _ in range(_CALLS):
            function(None, None)
        least = min(least, time.thread_time_ns() - begun)
    return least
