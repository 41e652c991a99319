"""Calls that are counted in a part of the time, where counting them all would cost the program too much.

A turn lasts from one stack of the probe to the next. What costs most is to look where each call comes from. So in most turns calls are counted
directly, where earlier looks have told that each is a step, or none. Where that cannot be told, or costs too much as well, nothing of ours
is there in most turns, and what is counted goes on at the pace of the last turn in which it was: all calls of the method by the least
that can count them, or, now and then, with a look. When the next of these comes is drawn, so that no rhythm of the program's can hide
in between.
"""

from __future__ import annotations

import sys
from _thread import allocate_lock

from .. import layout
from ..counters import FIRST_THREAD, TAKES_TURNS, ThreadShare, so_far
from ..real import os, time
from .call_costs import (
    HEEDING,
    IN_BETWEEN,
    LOOKING,
    as_part,
    drawn_after,
    longer_ns,
    rarer_after,
)

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Protocol

    from ..counters import EventCounter

    class TakesTurns(Protocol):
        def turn(self, own_ns: int) -> None: ...
        def begin(self) -> None: ...
        def put(self, way: int) -> None: ...


MOST_COST, FIRST_COST = 0.01, 0.02
"""Largest share of the program's own CPU time, and of the first of it: a short run has few turns to tell its pace by."""
FIRST_NS = 30_000_000_000
RESTING_COST = 0.002
"""The same where next to no call is a step: vector environments make the steps, and count them."""
_FEW, _TO_TELL = 0.01, 1000
"""Most part of the calls that are steps there, and calls that it takes to tell."""
_ONE_LOOKS = 4
"""Counted turns of which one looks."""
_MOST_TURNS = 200
"""One of so many at least is counted."""
_DIRECT_TURNS = 50
"""Turns on average in which calls are counted directly, before they are looked at anew."""
_MOST_DIRECT = 0.05
"""Largest share that counting directly may take. Where nothing of ours is in the class, steps are lost of
what the program holds on to then (``step = env.step``), and of threads that step while the main thread waits: up to 94 % (2026-11-28).
"""
_MOST_AHEAD = 10
"""Turns by which the program's own counting may be ahead of its pace: in more, its pace is another."""
_THREAD_TURNS, _MOST_THREADS = 50, 10
"""Turns that are counted with a look after a thread has begun, and threads to begin before that ends: those of many programs make no steps."""
_MOST_ENDS = 1_000
"""Changes of the way up to which the end of turns is one, too: a program may block signals at each of its steps."""
AT_ONCE = 10
"""Turns that are summed up at once, where nothing changes from one to the next: to sum up takes 10 to 30 µs."""
_OF_THE_LAST = 0.2
"""Weight of the last turn in a mean."""
_ANOTHER = 1.5
"""Times that the part of the calls which are steps differs from the mean, from which on it is another: an environment may be wrapped once more in each
episode.
"""
_TO_BE_APART = 3
"""Times that what is in between is reckoned anew, to be known to a ns."""

AWAY, BRIEF, LOOKS, DIRECT = range(4)
"""How calls are counted in a turn: not; all of them, beside; all of them, and in the counter those that are steps; those that are steps, without a look."""

_all: list[TakesTurns] = []
_ever: list[PartTime] = []
"""Those too that take no turns: all their calls are counted."""


def enrol(each: TakesTurns) -> None:
    """Have it take turns from here on, unless all is to be counted."""
    if os.environ.get("RLPROF_PART_TIME") and each not in _all:
        _all.append(each)


def is_enrolled(each: TakesTurns) -> bool:
    """Tell whether it takes turns."""
    return each in _all


def turn(own_ns: int) -> None:
    """A stack of the main thread was taken, which had so much CPU time of its own since the last one."""
    for each in _all:
        each.turn(own_ns)


def begin() -> None:
    """Count all calls until the first turn has ended: stacks are taken from here on, or one was cut."""
    TAKES_TURNS[0] = FIRST_THREAD
    for each in _all:
        each.begin()


def thread_begins() -> None:
    """The program starts a thread, which may make steps while the main thread waits, and has no turns."""
    for each in _ever:
        if is_enrolled(each):
            each.thread_begins()


def end_turns() -> None:
    """No stacks are taken for now: looks would cost too much for good. Calls tell of themselves as those of threads do, and so do reads of tensors."""
    TAKES_TURNS[0] = 0
    for each in _ever:
        if is_enrolled(each):
            each.end_turns()


def forget_what_is_left() -> None:
    """In a forked child: what the parent had counted, and not added yet, is the parent's."""
    for each in _ever:
        each.forget_what_is_left()


def let_go() -> None:
    """The program ends: hold nothing of it, so that what its modules have is collected as without us. Hooks of forks keep us for ever."""
    _all.clear()
    for each in _ever:
        for part in each.parts:
            part.let_go()
        each.parts.clear()


def cost_ns() -> int:
    """Time that counting calls has taken up to now, in between those of the program, where all of them are counted."""
    return round(sum(each.cost_ns for each in _ever))


def stop() -> None:
    """Count no more: nobody is told."""
    for each in _all:
        each.put(AWAY)
    _all.clear()


class PartTime:
    """Has ``parts`` ``put`` the functions that count in a way in their places, and tell by ``is_clear`` whether they can do so directly. In
    each way but ``AWAY`` they add calls to ``calls``: all of them, or steps alone in ``DIRECT``.
    """

    def __init__(self, counter: EventCounter, calls: list[int], call_ns: float) -> None:
        """``call_ns``: CPU time that a call takes longer when it is counted in brief, timed in a row."""
        self.parts: list[Any] = []
        self.way = LOOKS
        self.has_thread_turns = False
        """True if threads that make calls tell so themselves."""
        self.may_rest = False
        """True if calls that are no steps are those which others count."""
        self._counter = counter
        self._calls = calls
        self.threads = ThreadShare(counter, calls)
        self._call_ns = call_ns
        self._is_whole = False
        """True if this turn is counted from its beginning on."""
        self._seen = 0, 0
        self._until_sum = 1
        """Turns until what was counted is summed up."""
        self._turns_ns = 0
        """CPU time of those that were not summed up yet."""
        self._own_ns = 0
        self._cost, self._looking_cost, self._direct_cost = 0.0, 0.0, 0.0
        """Part that counting takes of a turn that is counted, of one that looks at each call, and of one whose steps are counted directly."""
        self.changes = 0
        """How often the way was changed."""
        self._lock = allocate_lock()
        self._put_ns, self._turn_ns = 0.0, 0
        """CPU time to change the way, and of the last turn."""
        self._pace: Any = None
        """Steps in a ns of the program's own; None before the first turn in brief."""
        self._steps, self._among = 0.0, 0.0
        """In a turn that looks: steps, and calls. The last one weighs most."""
        self._left = 0
        """Turns until the next that is counted, or looked at where they are counted directly."""
        self._looking, self._threads = 0, 0
        """Turns that are to be looked at, for a thread has begun, and how often one has."""
        self._until_look, self._owed, self._drawn = 0, 0.0, 1
        _ever.append(self)

    @property
    def cost_ns(self) -> float:
        """Time that its calls have taken longer, each counted with a look at where it came from."""
        return self.looking_ns(self._calls[0])

    def looking_ns(self, calls: int) -> float:
        """Return what so many calls have taken longer that were looked at, where the program does much in between."""
        return calls * LOOKING * IN_BETWEEN * self._call_ns

    @property
    def is_clear(self) -> bool:
        """True if looks have told of all functions whether their calls are steps."""
        return all(part.is_clear() for part in self.parts)

    def leave(self) -> None:
        """Take no more turns: nothing is counted any more."""
        if self in _all:
            _all.remove(self)

    def begin(self) -> None:
        """Count all calls from here on: nobody has told of turns, or the last one was cut."""
        self.put(LOOKS)
        self._is_whole = False
        self._turns_ns, self._until_sum = 0, 1

    def end_turns(self) -> None:
        """Count directly where that is known to be right, for nobody tells of turns any more."""
        if self.changes < _MOST_ENDS and self.is_clear:
            self.put(DIRECT)
        elif self.way != DIRECT:
            self.begin()

    def forget_what_is_left(self) -> None:
        self._lock = allocate_lock()  # The thread that held it is not there.
        for part in self.parts:
            part.forget_what_is_left()

    def thread_begins(self) -> None:
        """See that its calls are counted, if the main thread waits from now on."""
        if self.way != LOOKS and self._threads < _MOST_THREADS:
            self._threads += 1
            self.begin()
            self._looking = _THREAD_TURNS

    def turn(self, own_ns: int) -> None:
        """A turn has ended in which the thread had so much CPU time."""
        before = self._seen
        self._own_ns += own_ns
        if self._counter.is_elsewhere and self.has_thread_turns:
            self.threads.turn()
        if self.way == DIRECT:
            self._left -= 1
            if self._left <= 0:
                self._put_next()
        elif self.way == AWAY:
            # What the program holds on to itself, as by ``step = env.step``, has gone on counting.
            steps, calls = self._counts()
            bare_ns = own_ns - self.looking_ns(calls - before[1])
            expected = bare_ns * self._pace
            self._add(expected - (steps - before[0]))
            self._owed = max(self._owed, -_MOST_AHEAD * expected)
            self._left -= 1
            if self._left <= 0:
                self._put_next()
        elif not self._is_whole:
            self._is_whole = True
        elif own_ns > 0:
            self._turn_ns = own_ns
            self._turns_ns += own_ns
            self._until_sum -= 1
            if self._until_sum > 0:
                return
            steps, calls = self._counts()
            # Fewer than before where those of an evaluation were taken out.
            self._learn(max(0, steps - before[0]), calls - before[1], self._turns_ns)
            self._turns_ns = 0
            self._put_after()
            stays = not self._is_dear or self.threads.is_heeded
            self._until_sum = AT_ONCE if self.way == LOOKS and stays else 1
        self._seen = self._counts()

    def _learn(self, steps: int, calls: int, own_ns: int) -> None:
        """From what was counted in a turn: ``steps`` are in the counter, ``calls`` were counted beside it."""
        if calls <= 0:
            self._pace = None if self._pace is None else 0.0
            return
        trial_ns = self._call_ns * (LOOKING if self.way == LOOKS else 1.0)
        between_ns = own_ns / calls
        for _ in range(_TO_BE_APART):
            between_ns = max(0.0, own_ns / calls - longer_ns(trial_ns, between_ns))
        brief_ns = longer_ns(self._call_ns, between_ns)
        looking_ns = longer_ns(LOOKING * self._call_ns, between_ns)
        if self.way == LOOKS:
            before = self._steps * calls / self._among if self._among else 0.0
            is_other = not before / _ANOTHER <= steps <= before * _ANOTHER
            part = 1.0 if is_other else _OF_THE_LAST
            self._steps += part * (steps - self._steps)
            self._among += part * (calls - self._among)
            made, call_ns = float(steps), looking_ns
        else:
            made, call_ns = calls * self._steps / self._among, brief_ns
            self._add(max(0.0, made - steps))
        # What is dear is known less well: there it tells the pace only where nothing else does.
        is_known = self._pace is not None and not (self._is_dear and self._pace)
        if self.way == BRIEF or is_known or self._rests:
            self._pace = made / max(own_ns - calls * call_ns, 0.1 * own_ns)
        direct_ns = IN_BETWEEN * self._call_ns
        part = _OF_THE_LAST if self._cost else 1.0
        if self.way == LOOKS:
            heeding = HEEDING * calls * max([0.0, *[each.heeding() for each in self.parts]])
            direct = (min(steps, calls) + heeding) * direct_ns / own_ns
            self._direct_cost += part * (direct - self._direct_cost)
        on_average_ns = ((_ONE_LOOKS - 1) * brief_ns + looking_ns) / _ONE_LOOKS
        self._cost += part * (calls * on_average_ns / own_ns - self._cost)
        self._looking_cost += part * (calls * looking_ns / own_ns - self._looking_cost)

    def _put_after(self) -> None:
        """Go on in another way after a turn that was counted."""
        cost, most = self._cost, self._most_cost
        if self._rests:
            cost, most = self._looking_cost, RESTING_COST
        is_elsewhere = self.threads.is_heeded
        self._looking -= 1
        is_cheap = self._direct_cost <= _MOST_DIRECT or is_elsewhere
        if self.way == LOOKS and is_cheap and self._looking_cost > most and self.is_clear:
            self.count_directly()
            return
        wanted = cost / most + self._turns_of_a_change if cost > most else 0.0
        self._left = self._drawn_turns(min(wanted, _MOST_TURNS))
        is_bound = is_elsewhere or self._looking > 0
        if self._left > 0 and self._pace is not None and not is_bound:
            self.put(AWAY)
            if not self._rests:
                _tell_that_steps_are_estimated()
        elif self._steps:
            self._put_next()

    def count_directly(self) -> None:
        """Leave the looks out for some turns."""
        self._left = self._drawn_turns(max(_DIRECT_TURNS, self._turns_of_a_change))
        self.put(DIRECT)

    def _drawn_turns(self, on_average: float) -> int:
        """How many are to pass until the next that is counted, or looked at."""
        if not on_average:
            return 0
        self._drawn = drawn_after(self._drawn)
        turns = on_average * rarer_after(self.changes)
        return round(as_part(self._drawn) * 2 * (turns - 1))

    @property
    def _turns_of_a_change(self) -> float:
        """How many turns are to pass between two changes of the way there and back, for what these cost."""
        return 2 * self._put_ns / max(1, self._turn_ns) / self._most_cost

    @property
    def _rests(self) -> bool:
        calls = self._calls[0]
        return self.may_rest and calls >= _TO_TELL and so_far(self._counter) <= _FEW * calls

    @property
    def _is_dear(self) -> bool:
        """True if to look at each call costs too much."""
        return self._looking_cost > self._most_cost

    @property
    def _most_cost(self) -> float:
        return FIRST_COST if self._own_ns < FIRST_NS else MOST_COST

    def _put_next(self) -> None:
        self._until_look = (self._until_look or _ONE_LOOKS) - 1
        must_look = self.threads.is_heeded or self._rests or self._looking > 0
        must_look |= self.way == DIRECT
        if self.threads.is_heeded:
            # The next call of a thread has those of it looked at anew, too.
            self.threads.leave(0)
        self.put(BRIEF if self._until_look and self._is_dear and not must_look else LOOKS)
        self._is_whole = True

    def put(self, way: int) -> None:
        # Another thread, or what the main thread was doing when its stack was taken, may be about it.
        if self.way == way or not self._lock.acquire(False):
            return
        try:
            begun = time.thread_time_ns()
            self.way = way
            self.changes += 1
            for part in self.parts:
                part.put(way)
            self._put_ns += _OF_THE_LAST * (time.thread_time_ns() - begun - self._put_ns)
        finally:
            self._lock.release()

    def _add(self, steps: float) -> None:
        """Count so many more; fewer where the program makes more by itself than its pace, until that is made up for."""
        self._owed += steps
        whole = max(0, int(self._owed))
        self._owed -= whole
        self._counter.cell[0] += whole

    def _counts(self) -> tuple[int, int]:
        return so_far(self._counter), self._calls[0]


def _tell_that_steps_are_estimated() -> None:
    agent = sys.modules[__package__.rpartition(".")[0]].current_agent()
    if agent is not None:
        agent.mailbox.cells[layout.CELL_STEPS_ESTIMATED] = 1
