"""Functions that stand in for counted ones: they call the original, then count.

A program may pickle its own classes by value (cloudpickle does, to send environments to workers),
and these functions with them. So they refer to nothing but what they close over, and that pickles
into standard types: see ``EventCounter.__reduce__``.

An error that passes through one leaves without its frame, from Python 3.11 on, and a warning with a
``stacklevel`` goes past it: see ``layout.COUNTED_FILE``.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from types import FunctionType, WrapperDescriptorType

from ..counters import TAKES_TURNS
from ..plain_reads import in_classes, is_metaclass, names_of, qualname_of
from ..real import time
from .dressing import (
    OF_ERRORS,
    dressed,
    in_place_of,
    is_counting,
    original_of,
    takes_self_and_one_more,
    the_one_in_place_of,
)

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

    from ..counters import EventCounter

_CO_COROUTINE = 128
_TRIALS, _CALLS = 8, 200
_OF_OURS = ("__wrapped__", "__signature__", "_torchdynamo_inline")
"""Attributes that those have which count."""
_TELL_OF_IT = ("__name__", "__qualname__", "__module__", "__doc__")
"""What a program may set, and is not among a function's own attributes."""


# ``counter.cell[0] += size`` with a size that is there: Python changes threads at calls alone, from 3.10 on, and what another thread
# adds between the read and the write would be lost.


def counting(original: Any, counter: EventCounter) -> Any:
    """``original`` with its outermost calls of each thread counted: one that calls another of the
    same counter, as wrappers of environments do, counts once. A call that raises does not count.
    """
    code = getattr(original, "__code__", None)
    if code is None:
        return in_place_of(original, _any_call(original, counter, [0, 0, 0, 0], [None, None], {}))
    if code.co_flags & _CO_COROUTINE:
        awaited = (
            _awaited_call_with_one if takes_self_and_one_more(original) else _awaited_call_with_any
        )
        return in_place_of(original, awaited(original, counter))
    if takes_self_and_one_more(original):
        return in_place_of(original, _one_argument_call(original, counter))
    return in_place_of(original, _any_call(original, counter, [0, 0, 0, 0], [None, None], {}))


def counting_in_brief(original: Any, counter: EventCounter, calls: list[int]) -> Any:
    """``original`` with all calls counted in ``calls``, whoever makes them, as briefly as can be; ``counter`` is told by
    :func:`counter_of`.
    """
    failure, with_traceback = OF_ERRORS
    __class__ = None

    def one(self: Any, argument: Any) -> Any:
        if False:
            return __class__, counter
        calls[0] += 1
        try:
            return original(self, argument)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise

    def several(*args: Any, **kwargs: Any) -> Any:
        if False:
            return __class__, counter
        calls[0] += 1
        try:
            return original(*args, **kwargs)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise

    return the_one_in_place_of(original, one, several)


def put_in_class(owner: type, name: str, function: Any) -> None:
    """Set an attribute of a class, without asking a metaclass of the program's. Raises TypeError for a class whose attributes are fixed."""
    try:
        type.__setattr__(owner, name, function)
    except TypeError:
        # Of a metaclass in C with a way of its own, as pybind11's, Python lets no other be taken.
        if type(in_classes(type(owner), "__setattr__")) is not WrapperDescriptorType:
            raise
        setattr(owner, name, function)


def is_of_a_module(function: Any) -> bool:
    """Tell whether nothing but its module is held with it: others may be of classes that a program makes anew each time."""
    if type(function) is not FunctionType or "<locals>" in function.__qualname__:
        return False
    names = getattr(sys.modules.get(function.__module__), "__dict__", None)
    if names is not function.__globals__:
        return False
    found = _named(names, function.__qualname__)
    if type(found) is FunctionType and is_counting(found):
        found = original_of(found)
    if found is not function:
        return False  # Of a class that was made anew since: a module that is loaded again has the names that it had.
    names_of_cells, cells = function.__code__.co_freevars, function.__closure__ or ()
    # ``super()`` knows the class by a cell.
    return names_of_cells in ((), ("__class__",)) and all(_is_among(names, cell) for cell in cells)


def _named(names: dict[str, Any], qualname: str) -> Any:
    """Return what a qualified name leads to from the names of a module; None where there is nothing."""
    found: Any = None
    for part in qualname.split("."):
        found = names.get(part)
        names = names_of(found) if is_metaclass(type(found)) else {}
    return found


def _is_among(names: dict[str, Any], cell: Any) -> bool:
    """Tell whether a cell holds a class that a module has."""
    try:
        owner = cell.cell_contents
    except ValueError:
        return False  # Not filled yet.
    return isinstance(owner, type) and _named(names, qualname_of(owner)) is owner


def given_back(function: Any) -> Any:
    """The same, to stand in its place again, with the attributes that the program has set since."""
    original = original_of(function)
    _rename(original, function)
    own = getattr(original, "__dict__", None)
    if own is not None and own is not function.__dict__:
        own.update((name, each) for name, each in function.__dict__.items() if name not in _OF_OURS)
        if own:
            # One and the same from here on: the program may hold this function, and set attributes by the class.
            function.__dict__ = own
    return original


def handed_on(original: Any, function: Any) -> Any:
    """``function``, to stand in the place of ``original`` again, with its attributes: where there are any they are one and the same."""
    _rename(function, original)
    own = getattr(original, "__dict__", None)
    if own and function.__dict__ is not own:
        function.__dict__ = own
    return function


def _rename(function: Any, as_another: Any) -> None:
    """Give it the names and the text that the program has given another one that stood in its place."""
    for name in _TELL_OF_IT:
        wanted = getattr(as_another, name, None)
        if getattr(function, name, None) is not wanted and type(function) is FunctionType:
            setattr(function, name, wanted)


def cost_of_a_call(counter: EventCounter, calls: list[int]) -> float:
    """CPU time in ns by which a call takes longer when it is counted in brief, by a trial on this machine."""

    def nothing(stepped: Any, action: Any) -> None:
        pass

    counted = counting_in_brief(nothing, counter, calls)
    before = calls[0]
    cost_ns = max(0.0, _least_ns(counted) - _least_ns(nothing)) / _CALLS
    calls[0] = before
    return cost_ns


def _least_ns(function: Any) -> float:
    least = float("inf")
    for _ in range(_TRIALS):
        begun = time.thread_time_ns()
        for _ in range(_CALLS):
            function(None, None)
        least = min(least, time.thread_time_ns() - begun)
    return least


def _one_argument_call(original: Any, counter: EventCounter) -> Any:
    thread, others, sizes, calls = get_ident, counter.others, counter.sizes, counter.calls
    held, inner, left, told = counter.held, counter.inner, counter.left, TAKES_TURNS
    number_of, (failure, with_traceback) = id, OF_ERRORS
    tally = [0, 0, 0, 0]
    """Calls that were the outermost and counted for one each, those from within others, and outermost ones that counted for more or for nothing; at
    last whether ``callers`` are to be noted.
    """
    callers: dict[int, list[int]] = {}
    """Outermost calls and others, by the number of the code that makes them."""
    instead: list[Any] = [None, None]
    """What is called in its place for now, where the program holds on to it; and what counts directly, if that is made yet."""
    # A pickle by value holds it, too: it must not name this module, which is not there where that is read.
    any_call = _any_call(original, counter, tally, instead, callers)
    elsewhere = dressed(any_call, original, original.__globals__)
    __class__ = None

    def counted(self: Any, argument: Any) -> Any:
        if False:
            return __class__
        direct = instead[0]
        if direct is not None:
            try:
                return direct(self, argument)
            except failure as error:
                with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
                raise
        calls[0] += 1
        # Before the look: Python changes threads at calls, and none may come between it and the taking.
        me = thread()
        if counter.owner or others or held:
            try:
                if counter.owner == me or me in others or me in held:
                    tally[1] += 1
                    if tally[3]:
                        counter.note((callers, 1))
                    return original(self, argument)
                if counter.owner or others:
                    # Another thread is inside a call of its own.
                    return elsewhere(self, argument)
            except failure as error:
                with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
                raise
        counter.owner = me
        holds = inner is not None and me not in inner
        try:
            if holds:
                inner.add(me)
            result = original(self, argument)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        finally:
            counter.owner = 0
            if holds:
                inner.discard(me)
        size = sizes.get(number_of(self))
        if size is None:
            size = counter.measure(self)
        counter.cell[0] += size
        tally[0 if size == 1 else 2] += 1
        if tally[3]:
            counter.note((callers, 0))
        if me != told[0]:
            left[0] -= 1
            if left[0] < 0:
                counter.in_thread(me)
        return result

    return counted


def _any_call(
    original: Any,
    counter: EventCounter,
    tally: list[int],
    instead: list[Any],
    callers: dict[int, list[int]],
) -> Any:
    thread, others, calls = get_ident, counter.others, counter.calls
    held, inner, left, told = counter.held, counter.inner, counter.left, TAKES_TURNS
    failure, with_traceback = OF_ERRORS
    __class__ = None

    def counted(*args: Any, **kwargs: Any) -> Any:
        if False:
            return __class__
        direct = instead[0]
        if direct is not None:
            try:
                return direct(*args, **kwargs)
            except failure as error:
                with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
                raise
        calls[0] += 1
        me = thread()
        is_outermost = not (counter.owner == me or me in others or me in held)
        holds = is_outermost and inner is not None and me not in inner
        try:
            # Within: a signal handler that raises may come at any moment.
            if is_outermost:
                others.add(me)
            if holds:
                inner.add(me)
            result = original(*args, **kwargs)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        finally:
            if is_outermost:
                others.discard(me)
            if holds:
                inner.discard(me)
        if not is_outermost:
            tally[1] += 1
            if tally[3]:
                counter.note((callers, 1))
            return result
        size = counter.size_of(args[0] if args else None)
        counter.cell[0] += size
        tally[0 if size == 1 else 2] += 1
        if tally[3]:
            counter.note((callers, 0))
        if me != told[0]:
            left[0] -= 1
            if left[0] < 0:
                counter.in_thread(me)
        return result

    return counted


# Tasks of one thread take turns, so that no thread is inside a call: what awaits it tells whether it is within another one.


def _awaited_call_with_one(original: Any, counter: EventCounter) -> Any:
    """Raise TypeError for wrong arguments where it is called, and not where it is awaited."""
    thread, (failure, with_traceback) = get_ident, OF_ERRORS
    __class__ = None

    async def counted(self: Any, argument: Any) -> Any:
        if False:
            return __class__
        is_inside = counter.is_inside(thread())
        try:
            result = await original(self, argument)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        if not is_inside:
            size = counter.size_of(self)
            counter.cell[0] += size
        return result

    return counted


def _awaited_call_with_any(original: Any, counter: EventCounter) -> Any:
    thread, (failure, with_traceback) = get_ident, OF_ERRORS
    __class__ = None

    async def counted(*args: Any, **kwargs: Any) -> Any:
        if False:
            return __class__
        is_inside = counter.is_inside(thread())
        try:
            result = await original(*args, **kwargs)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        if not is_inside:
            size = counter.size_of(args[0] if args else None)
            counter.cell[0] += size
        return result

    return counted
