"""Calls that threads make, of which no turn of the main thread's tells: counted where they are the outermost, without a look at each.

To look whether a call comes from another takes four times what counting it does, and each wrapper of an environment is looked at. So after
some calls the looks are left out: functions that were only ever the outermost count by themselves, and those that only others
have called have the program's own in their places. The first call of one that was not seen, and each after many, has all looked at anew.
"""

from __future__ import annotations

from .. import foreign_errors
from ..real import time
from .calls import in_place_of, is_counting, takes_self_and_one_more
from .part_time import DIRECT, LOOKS, MOST_COST, PartTime, is_enrolled, rarer_after

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Optional

    from ..counters import EventCounter

_LOOKED_AT = 1_000
"""Outermost calls that tell which functions are."""
_DIRECT = 200_000
"""Calls until that is looked at anew: a program may wrap its environments in another way by then."""
_AT_ONCE = 32
"""Calls that are added to the counter at once."""


class ThreadTurns:
    """Has the looks of a :class:`PartTime` left out where threads make its calls, and each look takes too long."""

    def __init__(self, turns: PartTime, counter: EventCounter) -> None:
        self._turns, self._counter = turns, counter
        self._begun: Optional[tuple[int, int, int]] = None
        """The thread of which calls are timed, its CPU time in ns, and all calls by then."""
        counter.in_thread = self.called

    def called(self, thread: int) -> None:
        """So many calls as ``counter.left`` said were made in threads, the last one in ``thread``."""
        try:
            self._look(thread)
        except Exception as error:
            # We are in the midst of the program's own call.
            foreign_errors.pass_on(error)
            self._wait()

    def _look(self, thread: int) -> None:
        if not is_enrolled(self._turns):
            self._wait()
        elif self._turns.way == DIRECT:
            self._turns.put(LOOKS)
            self._begin(thread)
        elif self._begun is None or self._begun[0] != thread:
            self._begin(thread)
        else:
            _, begun_ns, before = self._begun
            own_ns = time.thread_time_ns() - begun_ns
            looked_ns = self._turns.looking_ns(self._counter.calls[0] - before)
            is_clear = all(part.tells_outermost() for part in self._turns.parts)
            if is_clear and looked_ns > MOST_COST * own_ns:
                self._turns.put(DIRECT)
            self._wait()

    def _begin(self, thread: int) -> None:
        self._begun = thread, time.thread_time_ns(), self._counter.calls[0]
        self._counter.left[0] = _LOOKED_AT

    def _wait(self) -> None:
        self._begun = None
        self._counter.left[0] = round(_DIRECT * rarer_after(self._turns.changes))


def tells_outermost(function: Any) -> bool:
    """Tell whether all calls of ``function``, which looks at each, were the outermost and counted for one each, or none of them was."""
    outermost, inner, sized = _closed_over(function, "tally") or (0, 0, 0)
    return not sized and not (outermost and inner)


def put_directly(function: Any, original: Any, counter: EventCounter) -> Any:
    """Return what is to stand in the place of ``function``, which has counted calls of ``original`` with a look at each."""
    tally = _closed_over(function, "tally")
    if tally is None:
        return function
    outermost, inner, _ = tally
    tally[:] = [0, 0, 0]
    if inner:
        return original
    return counting_directly(original, counter) if outermost else telling(original, counter)


def add_what_is_left(function: Any, counter: EventCounter) -> None:
    """Add to the counter what ``function``, which goes now, has counted directly since it last did so."""
    made = _closed_over(function, "made")
    if made is not None:
        counter.add(made)


def _closed_over(function: Any, name: str) -> Any:
    names = function.__code__.co_freevars if is_counting(function) else ()
    return function.__closure__[names.index(name)].cell_contents if name in names else None


def counting_directly(original: Any, counter: EventCounter) -> Any:
    """``original`` with each call that does not raise counted as one."""
    made, most = [0], _AT_ONCE
    __class__ = None

    def one(self: Any, argument: Any) -> Any:
        if False:
            return __class__
        try:
            result = original(self, argument)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        made[0] += 1
        if made[0] >= most:
            counter.add(made)
        return result

    def several(*args: Any, **kwargs: Any) -> Any:
        if False:
            return __class__
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        made[0] += 1
        if made[0] >= most:
            counter.add(made)
        return result

    code = getattr(original, "__code__", None)
    is_one = code is not None and takes_self_and_one_more(code)
    return in_place_of(original, one if is_one else several)


def telling(original: Any, counter: EventCounter) -> Any:
    """``original``, whose first call has all looked at: from within a call that counts directly it would count twice."""
    __class__ = None

    def several(*args: Any, **kwargs: Any) -> Any:
        if False:
            return __class__
        counter.in_thread(0)
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise

    return in_place_of(original, several)
