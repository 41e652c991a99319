"""Calls of the program's functions, counted by a mark in the code of each (:mod:`marked_code`).

A mark goes through an iterator at each call, and looks at one call of many, once in some milliseconds: whether it is made by another one that counts,
and for how many it counts. All calls since the last look are taken to be of that kind, so that the number from one look to the next is drawn:
no rhythm of the program's may hide between two. A function that is only ever the outermost, as nearly all are, is counted to the call.
"""

from __future__ import annotations

import sys
from _weakref import ref
from sys import _getframe
from types import FunctionType

from .. import aside, foreign_errors, turns
from ..instruments import are_writes_heard
from ..real import time
from .marked_code import CO_GENERATORS, marked

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Callable, Optional

    Told = tuple[Optional[Any], int]
    """The counter that a call counts in, or None, and for how many."""
    Kind = Callable[[FrameType, Any], Told]
    """Tells it by the frame of the call and its first argument."""

NOT_AT_ALL: Told = (None, 0)
_MOST, _SPARE = 4096, 64
"""Most calls from one look to the next, and looks at once, by threads, or that are cut short by an error of the program's."""
_TICKS = [True] * _MOST + [False] * _SPARE
_ALL = len(_TICKS)
_LOOK_EVERY_NS = 4_000_000
"""Time from one look to the next. One takes 2 to 4 µs: 0.1 % of the time (``benchmarks/marked_calls.py``)."""
_FIRST = 256
"""Calls of each function that are all looked at: short programs, and the first episodes, are counted to the call."""
_GROWS = 4
"""Times as many calls as before from one look to the next, at most: a program may rest in between."""
_MOST_OF_A_CODE = 8
"""Functions of one code that have marks of their own: a program may make a class anew for each episode."""
_MOST_MARKS = 4096

_marks: dict[int, Mark] = {}
"""By the number of the code that has it; the mark keeps the code, so that the number is nobody else's."""
_of_codes: dict[int, list[Mark]] = {}
"""By the number of the program's own code."""
_are_quiet = [False]
"""True while an instrument of the program's is on: no mark looks, for that is a call which it would show."""


class Mark:
    """Counts the calls of functions that have its code. Called with the first argument of one, it looks at that call."""

    __slots__ = ("_drawn", "_from", "_functions", "_is_packed", "_last_ns", "_left", "_quiet", "_said", "_ticks", "_until", "code", "counter", "kind", "own")

    def __init__(self, own: CodeType, counter: Any, kind: Kind) -> None:
        self.own = own
        """The program's."""
        self.counter = counter
        self.kind = kind
        self._functions: list[Any] = []
        """Weak references."""
        self._said = NOT_AT_ALL
        """What the last look has told."""
        self._is_packed = not own.co_argcount
        self._left, self._until, self._drawn, self._last_ns = _FIRST, 1, 1, 0
        self._ticks = iter(_TICKS)
        self._from = 0
        """Where the iterator stood at the last look."""
        self._quiet: Any = None
        """Iterator and code that never look."""
        self._wait()
        code = marked(own, self._ticks, self)
        if code is None:
            raise TypeError(own.co_name)
        self.code = code

    def give(self, function: FunctionType) -> None:
        """Have ``function`` counted."""
        function.__code__ = self._quiet_code() if _are_quiet[0] else self.code
        self._functions = [each for each in self._functions if each() is not None]
        self._functions.append(ref(function))

    def take(self, function: FunctionType) -> None:
        """Give ``function`` its own code back, unless the program has given it another."""
        if mark_of(function) is self:
            function.__code__ = self.own

    def __call__(self, stepped: Any) -> None:
        frame = _getframe(1)
        used = self._used()
        self._wait()
        if not self._ticks.__length_hint__():
            # Errors of the program's own have cut short as many looks as there were to spare.
            forget(self)
            return
        if self._is_packed and stepped is not None:
            stepped = stepped[0] if stepped else None
        try:
            self._said = self.kind(frame, stepped)
            self._add(used)
            self._plan(used)
        except Exception as error:
            foreign_errors.pass_on(error)  # We are in the midst of the program's own call.

    def add_what_is_left(self) -> None:
        """Count the calls since the last look."""
        used = self._used()
        if used > 0:
            self._from += used
            self._add(used)
        if self._quiet is not None:
            ticks, left = self._quiet[0], self._quiet[2]
            now = ticks.__length_hint__()
            self._quiet[2] = now
            self._add(left - now)

    def forget_what_is_left(self) -> None:
        """In a forked child: it is the parent's."""
        self._from += max(0, self._used())
        if self._quiet is not None:
            self._quiet[2] = self._quiet[0].__length_hint__()

    def be_quiet(self, is_quiet: bool) -> None:
        """Count without a look, or with looks again."""
        for each in self._functions:
            function = each()
            if function is not None and mark_of(function) is self:
                function.__code__ = self._quiet_code() if is_quiet else self.code

    def __reduce__(self) -> Any:
        """A function that is pickled by value takes it along: where it is loaded it counts for nobody."""
        return getattr, (callable, "__call__")

    def _quiet_code(self) -> CodeType:
        if self._quiet is None:
            from itertools import repeat

            ticks = repeat(True, sys.maxsize)
            code: Any = marked(self.own, ticks, self)
            _marks[id(code)] = self
            self._quiet = [ticks, code, sys.maxsize]
        code = self._quiet[1]
        return code

    def _used(self) -> int:
        return _ALL - self._ticks.__length_hint__() - self._from

    def _wait(self) -> None:
        """Look at the call after so many."""
        self._from = _MOST + 1 - self._until
        self._ticks.__setstate__(self._from)

    def _add(self, calls: int) -> None:
        counter, each = self._said
        if counter is not None and calls > 0:
            counter.add(calls * each)

    def _plan(self, used: int) -> None:
        """Draw how many calls to wait for the next look."""
        if self._left > 0:
            self._left -= 1
            return
        now = time.perf_counter_ns()
        wanted = used * _LOOK_EVERY_NS // max(1, now - self._last_ns)
        self._last_ns = now
        # Not by ``random``, whose state is the program's.
        self._drawn = self._drawn * 1_103_515_245 + 12_345 & 0x7FFF_FFFF
        wanted = min(wanted, _GROWS * self._until) * (self._drawn + 0x4000_0000) >> 31
        self._until = min(max(1, wanted), _MOST)


def count(function: Any, counter: Any, kind: Kind) -> bool:
    """Count the calls of ``function`` in ``counter``; False where that cannot be done. The last one to count a function does."""
    if not can_count(function):
        return False
    mark = mark_of(function)
    if mark is not None:
        if mark.counter is counter:
            return True
        mark.add_what_is_left()
        mark.take(function)
    mark = _mark_for(function.__code__, counter, kind)
    if mark is None:
        return False
    mark.give(function)
    return True


def can_count(function: Any) -> bool:
    """Tell whether it is a function of Python's that does what it is called for."""
    return (
        type(function) is FunctionType
        and not function.__code__.co_flags & CO_GENERATORS
        # Each change of a code would be told to a hook of the program's.
        and not are_writes_heard()
    )


def mark_of(function: Any) -> Optional[Mark]:
    """The mark in the code of ``function``, or None."""
    return _marks.get(id(function.__code__)) if type(function) is FunctionType else None


def mark_in(code: CodeType) -> Optional[Mark]:
    return _marks.get(id(code))


def own_code(code: CodeType) -> CodeType:
    """``code`` as the program has it, without a mark of ours."""
    mark = _marks.get(id(code))
    return code if mark is None else mark.own


def counted_as(code: CodeType, other: CodeType) -> CodeType:
    """``other``, which is to take the place of ``code``, with its calls counted as those of that."""
    mark = _marks.get(id(code))
    if mark is None:
        return other
    own = _mark_for(other, mark.counter, mark.kind)
    return other if own is None else own.code


def forget(mark: Mark) -> None:
    """Count its functions no more."""
    for each in mark._functions:
        function = each()
        if function is not None:
            mark.take(function)


def _mark_for(code: CodeType, counter: Any, kind: Kind) -> Optional[Mark]:
    there = [each for each in _of_codes.get(id(code), ()) if each.counter is counter]
    if len(there) >= _MOST_OF_A_CODE:
        return there[-1]
    if len(_marks) >= _MOST_MARKS:
        return None
    try:
        mark = Mark(code, counter, kind)
    except (TypeError, ValueError):
        return None  # Of a Python that is not known.
    _marks[id(mark.code)] = mark
    _of_codes.setdefault(id(code), []).append(mark)
    return mark


def add_what_is_left() -> None:
    """Count all calls up to now."""
    for mark in _alive():
        mark.add_what_is_left()


def forget_what_is_left() -> None:
    """In a forked child: what the parent had counted, and not added yet, is the parent's."""
    for mark in _alive():
        mark.forget_what_is_left()


class _OfTurns:
    """Counted calls are told at each stack, and count whether any is taken or not."""

    @staticmethod
    def turn(_own_ns: int) -> None:
        add_what_is_left()

    @staticmethod
    def begin() -> None:
        pass

    @staticmethod
    def stop() -> None:
        pass


def step_aside() -> None:
    _be_quiet(True)


def step_back() -> None:
    _be_quiet(False)


def _be_quiet(are_quiet: bool) -> None:
    _are_quiet[0] = are_quiet
    for mark in _alive():
        mark.be_quiet(are_quiet)


def _alive() -> list[Mark]:
    return [mark for marks in list(_of_codes.values()) for mark in marks]


turns.enrol(_OfTurns())
aside.takes_part(sys.modules[__name__])
