"""Calls that are counted directly, without a look at where each comes from: earlier looks have told which of them are steps.

What was only ever the outermost counts by itself, and what only others have called has the program's own in its place. Of what was both, the code
that calls it tells. The first call of one that was not seen has all looked at anew.
"""

from __future__ import annotations

from sys import _getframe

from .calls import handed_on
from .dressing import (
    OF_ERRORS,
    cell_of,
    closed_over,
    is_counting,
    original_of,
    the_one_in_place_of,
)

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


def is_clear(looking: Any) -> bool:
    """Tell whether it is known of each call of ``looking``, which looks at them, whether it counts for one, or is made by another. Where it is not,
    who calls it is noted from here on.
    """
    tally = _tally_of(looking)
    if tally is None:
        return True  # One that is awaited: all its calls count.
    outermost, inner, sized, has_callers = tally
    if not has_callers and not _is_of_one_kind(outermost + sized, inner):
        tally[3] = 1
        return False
    callers = closed_over(looking, "callers") if has_callers else {}
    return all(_is_of_one_kind(*each) for each in callers.values())


def heeded(looking: Any) -> tuple[int, int]:
    """Return the calls of late that ask for who calls where they are counted directly, and all that were looked at."""
    tally = _tally_of(looking)
    if tally is None:
        return 0, 0
    calls = sum(tally[:3])
    return calls if tally[3] else 0, calls


def looking_behind(function: Any) -> Any:
    """Return ``function`` where it looks at each call, and where it counts directly what looked in its place; else None."""
    if not is_counting(function):
        return None
    return function if _tally_of(function) is not None else closed_over(function, "looking")


def told_by(looking: Any, before: Any) -> Any:
    """Return where ``looking`` notes what it is told by its calls, which goes on from what another one was told ``before``; None where it notes
    nothing.
    """
    tally = _tally_of(looking)
    if tally is None:
        return None
    callers = closed_over(looking, "callers")
    if before is not None:
        tally[:] = before[0]
        callers.update((number, [*calls]) for number, calls in before[1].items())
    return tally, callers


def put_directly(looking: Any, counter: EventCounter) -> None:
    """Have ``looking`` count directly from now on, where the program holds on to it; :func:`in_place` tells what is to stand in its class."""
    tally = _tally_of(looking)
    if tally is None:
        return
    outermost, inner, sized, has_callers = tally
    original, instead = original_of(looking), closed_over(looking, "instead")
    if has_callers or outermost + sized > inner:
        if instead[1] is None:
            callers = closed_over(looking, "callers")
            instead[1] = counting_directly(original, counter, looking, callers)
        put_in_place(instead[1], True, bool(has_callers), is_sized=sized > 0)
        instead[0] = handed_on(original, instead[1])
    elif inner:
        instead[0] = original
    else:
        instead[0] = handed_on(original, _telling(original, counter, looking))


def in_place(looking: Any) -> Any:
    """Return what is to stand in the class where ``looking`` stood."""
    instead = closed_over(looking, "instead")
    return looking if instead is None or instead[0] is None else instead[0]


def put_looking(looking: Any) -> None:
    """Have ``looking`` look at each call again, and what counted directly in its place ask it. What the looks have told by now weighs
    half: a program may wrap its environments in another way.
    """
    tally = _tally_of(looking)
    if tally is None:
        return
    tally[:3] = [each // 2 for each in tally[:3]]
    for each in closed_over(looking, "callers").values():
        each[:] = [(calls + 1) // 2 for calls in each]  # Who has called is not forgotten.
    instead = closed_over(looking, "instead")
    instead[0] = None
    if instead[1] is not None:
        put_in_place(instead[1], False)


def put_aside(looking: Any, function: Any) -> None:
    """Have ``looking``, and what counted directly in its place, call ``function``, where the program holds on to one of them: each look there would
    cost as much as in the class.
    """
    if _tally_of(looking) is not None:
        closed_over(looking, "instead")[0] = function
        if (directly := _directly_of(looking)) is not None:
            put_in_place(directly, False)


def forget(looking: Any) -> None:
    """Have the looks of ``looking`` begin anew."""
    tally = _tally_of(looking)
    if tally is not None:
        tally[:] = [0, 0, 0, 0]
        closed_over(looking, "callers").clear()


def add_what_is_left(looking: Any, counter: EventCounter) -> None:
    """Add to the counter what was counted directly in the place of ``looking`` since that was last done."""
    directly = _directly_of(looking)
    if directly is not None:
        counter.add(*taken_from(directly))


def forget_what_is_left(looking: Any) -> None:
    """Leave it to the process that this one was forked from."""
    directly = _directly_of(looking)
    if directly is not None:
        taken_from(directly)


def counting_directly(
    original: Any, counter: Any, looking: Any, callers: dict[int, list[int]]
) -> Any:
    """``original`` with each call that does not raise counted, for what its object is where it is sized and else as one, and told to
    ``counter.add``: those of which ``callers`` say so, where it heeds them. While it is not :func:`put_in_place`, what ``looking`` makes of them.
    """
    # Variables of the closure, which are set from outside: items of lists take twice as long.
    made, more, is_in_place, heeds_callers, is_sized = 0, 0, False, False, False
    most = _AT_ONCE
    own_frame, number_of, nobody, sizes = _getframe, id, (0, 0), counter.sizes
    failure, with_traceback = OF_ERRORS
    __class__ = None

    # Written twice: a function for what both do would cost as much as they do.
    def one(self: Any, argument: Any) -> Any:
        nonlocal made, more
        if False:
            return __class__
        try:
            if not is_in_place:
                return looking(self, argument)
            result = original(self, argument)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        if heeds_callers:
            above = own_frame().f_back
            seen = nobody if above is None else callers.get(number_of(above.f_code), nobody)
            if seen[0] <= seen[1] and (seen is not nobody or not counter.is_outermost(callers)):
                return result
        if is_sized:
            size = sizes.get(number_of(self))
            more += (counter.measure(self) if size is None else size) - 1
        made += 1
        if made >= most:
            number, of_sizes, made, more = made, more, 0, 0
            counter.add(number, of_sizes)
        return result

    def several(*args: Any, **kwargs: Any) -> Any:
        nonlocal made, more
        if False:
            return __class__
        try:
            if not is_in_place:
                return looking(*args, **kwargs)
            result = original(*args, **kwargs)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        if heeds_callers:
            above = own_frame().f_back
            seen = nobody if above is None else callers.get(number_of(above.f_code), nobody)
            if seen[0] <= seen[1] and (seen is not nobody or not counter.is_outermost(callers)):
                return result
        if is_sized:
            stepped = args[0] if args else None
            size = sizes.get(number_of(stepped))
            more += (counter.measure(stepped) if size is None else size) - 1
        made += 1
        if made >= most:
            number, of_sizes, made, more = made, more, 0, 0
            counter.add(number, of_sizes)
        return result

    return the_one_in_place_of(original, one, several)


def put_in_place(
    directly: Any, is_in_place: bool, heeds_callers: bool = False, *, is_sized: bool = False
) -> None:
    """Have ``directly`` count, or ask what looks."""
    cell_of(directly, "is_in_place").cell_contents = is_in_place
    cell_of(directly, "heeds_callers").cell_contents = heeds_callers
    cell_of(directly, "is_sized").cell_contents = is_sized


def taken_from(directly: Any) -> tuple[int, int]:
    """Return the calls that it has counted since it last told of them, and how many more steps these were; it forgets them."""
    return taken_out_of(cell_of(directly, "made"), cell_of(directly, "more"))


def taken_out_of(made: Any, more: Any) -> tuple[int, int]:
    """The same of its cells."""
    taken = made.cell_contents, more.cell_contents
    made.cell_contents = more.cell_contents = 0
    return taken


def cells_of(looking: Any) -> Any:
    """Return what counts directly in the place of ``looking``, and the cells in which it counts; None where that is not made."""
    directly = _directly_of(looking)
    if directly is None:
        return None
    return directly, cell_of(directly, "made"), cell_of(directly, "more")


def _telling(original: Any, counter: EventCounter, looking: Any) -> Any:
    """``original``, whose first call has all looked at: from within a call that counts directly it would count twice."""
    instead: Any = closed_over(looking, "instead")
    failure, with_traceback = OF_ERRORS
    __class__ = None

    def one(self: Any, argument: Any) -> Any:
        if False:
            return __class__
        try:
            if instead[0] is None:
                return looking(self, argument)
            counter.in_thread(0)
            return original(self, argument)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise

    def several(*args: Any, **kwargs: Any) -> Any:
        if False:
            return __class__
        try:
            if instead[0] is None:
                return looking(*args, **kwargs)
            counter.in_thread(0)
            return original(*args, **kwargs)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise

    return the_one_in_place_of(original, one, several)


def _is_of_one_kind(outermost: int, inner: int) -> bool:
    return min(outermost, inner) <= 1 + max(outermost, inner) // _STRAYS


def _tally_of(function: Any) -> Any:
    return closed_over(function, "tally") if is_counting(function) else None


def _directly_of(looking: Any) -> Any:
    instead = closed_over(looking, "instead") if is_counting(looking) else None
    return None if instead is None else instead[1]
