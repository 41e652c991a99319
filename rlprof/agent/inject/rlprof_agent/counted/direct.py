"""Calls that are counted directly, without a look at where each comes from: earlier looks have told which functions make the steps.

What was only ever the outermost counts by itself, and what only others have called has the program's own in its place. The first call of
one that was not seen has all looked at anew.
"""

from __future__ import annotations

from .calls import handed_on
from .dressing import closed_over, in_place_of, is_counting, takes_self_and_one_more

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

    from ..counters import EventCounter

_AT_ONCE = 32
"""Calls that are added to the counter at once."""
_STRAYS = 128
"""One call of so many, and one more, may have been of the other kind: where looking begins in the midst of a call, what that calls seems the
outermost.
"""


def is_clear(function: Any) -> bool:
    """Tell whether the calls of ``function``, which looks at each, were the outermost and counted for one each, or none of them was."""
    outermost, inner, sized = _tally_of(function) or (0, 0, 0)
    return not sized and min(outermost, inner) <= 1 + max(outermost, inner) // _STRAYS


def looks(function: Any) -> bool:
    """Tell whether ``function``, which counts, looks at each call."""
    return _tally_of(function) is not None


def put_directly(function: Any, original: Any, counter: EventCounter) -> Any:
    """Return what is to stand in the place of ``function``, which has counted calls of ``original`` with a look at each. It does the same
    itself from now on, where the program holds on to it.
    """
    tally = _tally_of(function)
    if tally is None:
        return function
    outermost, inner, _ = tally
    instead = closed_over(function, "instead")
    if inner > outermost:
        instead[0] = original
        return original
    if not outermost:
        instead[0] = _telling(original, counter, instead, function)
    else:
        if instead[1] is None:
            instead[1] = counting_directly(original, counter, instead, function)
        instead[0] = instead[1]
    return handed_on(original, instead[0])


def put_looking(function: Any) -> None:
    """Have ``function`` look at each call again, and what counted directly in its place ask it. What the looks have told by now weighs
    half: a program may wrap its environments in another way.
    """
    tally = _tally_of(function)
    if tally is not None:
        tally[:] = [each // 2 for each in tally]
        closed_over(function, "instead")[0] = None


def add_what_is_left(function: Any, counter: Any) -> None:
    """Add to the counter what ``function``, which goes now, has counted directly since it last did so."""
    made = closed_over(function, "made") if is_counting(function) else None
    if made is not None:
        counter.add(made)


def counting_directly(original: Any, counter: Any, instead: list[Any], looking: Any) -> Any:
    """``original`` with each call that does not raise counted as one, and told to ``counter.add``; while it is not what ``instead`` has first, what
    ``looking`` makes of it.
    """
    made, most = [0], _AT_ONCE
    __class__ = None

    def one(self: Any, argument: Any) -> Any:
        if False:
            return __class__
        try:
            if instead[0] is not instead[1]:
                return looking(self, argument)
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
            if instead[0] is not instead[1]:
                return looking(*args, **kwargs)
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


def _tally_of(function: Any) -> Any:
    return closed_over(function, "tally") if is_counting(function) else None


def _telling(original: Any, counter: EventCounter, instead: list[Any], looking: Any) -> Any:
    """``original``, whose first call has all looked at: from within a call that counts directly it would count twice."""
    __class__ = None

    def several(*args: Any, **kwargs: Any) -> Any:
        if False:
            return __class__
        try:
            if instead[0] is None:
                return looking(*args, **kwargs)
            counter.in_thread(0)
            return original(*args, **kwargs)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise

    return in_place_of(original, several)
