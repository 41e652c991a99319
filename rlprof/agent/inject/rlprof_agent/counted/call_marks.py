"""Calls of the program's functions, counted by a mark in the code of each (:mod:`marked_code`).

A mark goes through an iterator at each call, and looks at one call of many, once in some milliseconds: whether it is made by another one that counts,
and what it counts for. All calls since the last look are taken to be of that kind. Where a look finds another kind than the one before, half of the calls
in between are taken to be of each, and a row of calls is looked at one by one: of a class of wrappers that stand in each other one call of two or three
is the outermost, of two vector environments that take turns each makes half of the calls, and these are their shares from there on.
"""

from __future__ import annotations

import sys
from _weakref import ref
from sys import _getframe
from types import FunctionType

from .. import aside, foreign_errors, turns
from ..instruments import are_writes_heard, is_one_on
from ..real import time
from . import look_plan
from .call_kinds import CallKinds, is_unclear
from .look_plan import LookPlan
from .marked_code import CO_GENERATORS, marked, value_of
from .ticks import MOST, SPARE, TICKS, Ticks

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Optional

    from .call_kinds import Kind, Told

_ROW, _NEXT_ROW = 32, 64
"""Calls in a row that are looked at: at first, and where the kind is another one than before; and again where there are several kinds. A child that is
forked for one episode makes some hundred calls.
"""
_LONGEST_ROW = 256
"""Most, where one of two kinds was seen only once or twice."""
_NEXT_ROW_NS = 250_000_000
"""Time from one of these to the next."""
_MOST_OF_A_CODE = 8
"""Functions of one code that have marks of their own: a program may make a class anew for each episode."""
_MOST_MARKS, _FEWEST_NEW = 512, 64
"""Marks that are kept, and new ones after which those of gone functions are forgotten. Each has some kilobytes, and the constants of its code."""
_MOST_IN_A_TURN = 32
"""Marks that one turn counts; of more it is the next ones' turn then."""

_marks: dict[int, CallMark] = {}
"""By the number of the code that has it; the mark keeps the code, so that the number is nobody else's."""
_of_codes: dict[tuple[Any, ...], list[CallMark]] = {}
"""By the program's own code, as :func:`value_of` tells it: a module that is loaded again has the same once more."""
_of_objects: dict[int, list[CallMark]] = {}
"""The same by the number of a code that one of them has for its own."""
_called: list[CallMark] = []
"""Those of functions that were called."""
_new, _next = [_FEWEST_NEW], [0]
"""New marks until the gone are forgotten, and the one of those called that the next turn begins with."""
_are_quiet = [False]
"""True while an instrument of the program's is on, which would show a look: one comes after as many calls as can be."""


class CallMark:
    """Counts the calls of functions that have its code. Called with the first argument of one, it looks at that call."""

    __slots__ = (
        "_from",
        "_functions",
        "_is_packed",
        "_kinds",
        "_left",
        "_plan",
        "_reckoned",
        "_row",
        "_row_ns",
        "_ticks",
        "_unsaid",
        "code",
        "counter",
        "is_known",
        "kind",
        "own",
    )

    def __init__(self, own: CodeType, counter: Any, kind: Kind) -> None:
        """Raises TypeError where the code cannot have a mark."""
        self.own = own
        """The program's."""
        self.counter = counter
        self.kind = kind
        self._functions: set[Any] = set()
        """Weak references."""
        self._kinds = CallKinds()
        self._unsaid = 0
        """Calls up to a turn, of which the look after it tells the kind."""
        self._row: list[Told] = []
        """The kind of each of the row that is looked at."""
        self._left = _ROW
        """Calls of it to come."""
        self.is_known, self._is_packed = False, not own.co_argcount
        self._plan, self._row_ns = LookPlan(), 0
        self._ticks: Any = Ticks(TICKS)
        self._from, self._reckoned = 0, 0
        """Ticks that were left when calls were reckoned last, and how often that was done."""
        if _are_quiet[0]:
            self._be_quiet()
        self._wait()
        code = marked(own, self._ticks, self)
        if code is None:
            raise TypeError(own.co_name)
        self.code: Any = code

    @property
    def is_used(self) -> bool:
        """True while a function that has it lives."""
        return bool(self._functions)

    def give(self, function: FunctionType) -> None:
        """Have ``function`` counted."""
        function.__code__ = self.code
        # In C: Python runs signal handlers in a callback of its own, and swallows what they raise.
        self._functions.add(ref(function, self._functions.discard))

    def take(self, function: FunctionType) -> None:
        """Give ``function`` its own code back, unless the program has given it another."""
        if mark_of(function) is self:
            function.__code__ = self.own

    def take_all(self) -> None:
        for each in list(self._functions):
            function = each()
            if function is not None:
                self.take(function)

    def __call__(self, stepped: Any) -> None:
        begun_ns = time.perf_counter_ns()
        try:
            frame = _getframe(1)
            if not self._ticks.__length_hint__():
                # Errors of the program's own have cut short as many looks as there were to spare.
                self.take_all()
                return
            used = self._reckon(SPARE + self._plan.until - 1)
            if used <= 0:
                return  # A turn, or a look of another thread, came before, and has counted this call.
            if self._is_packed and stepped is not None:
                stepped = stepped[0] if stepped else None
            if _are_quiet[0] and self.is_known and is_one_on():
                self._kinds.add(used)
                return
            told = self.kind(frame, stepped)
            if not self.is_known:
                self.is_known = True
                self._kinds.become(told)
                _called.append(self)
            if self._left > 0:
                self._look_in_a_row(told, used)
            else:
                self._look_at_one(told, self._take_unsaid() + used)
            if _are_quiet[0] and is_one_on():
                self._be_quiet()
                self._wait()
            look_plan.spend(time.perf_counter_ns() - begun_ns)
        except RecursionError as error:
            foreign_errors.pass_on_where_there_is_room(error)
        except Exception as error:
            foreign_errors.pass_on(error)  # We are in the midst of the program's own call.

    def add_what_is_left(self) -> None:
        """Count the calls since the last look."""
        self._kinds.add(self._take_unsaid() + self._reckon())

    def turn(self) -> None:
        """Look at the next call, which tells of those since the last look: it may be of another part of the program, whose calls take longer."""
        if not self._kinds:
            return  # Wrappers within others, of which a step in ``gymnasium.make`` has three: those looks that are planned do for them.
        used = self._reckon()
        if not used or _are_quiet[0]:
            self._kinds.add(self._take_unsaid() + used)
            return
        self._unsaid += used
        if self._left == 0 and look_plan.are_affordable():
            self._plan.until = 1
            self._unsaid += self._reckon(SPARE)

    def forget_what_is_left(self) -> None:
        """In a forked child: it is the parent's."""
        self._reckon()
        self._unsaid = 0

    def be_quiet(self, is_quiet: bool) -> None:
        """Look as rarely as can be, or as often as before."""
        self.add_what_is_left()
        if is_quiet:
            self._be_quiet()
        else:
            self._plan.until = 1
        self._wait()

    def __reduce__(self) -> Any:
        """A function that is pickled by value takes it along: where it is loaded it counts for nobody."""
        return getattr, (callable, "__call__")

    def _be_quiet(self) -> None:
        self._left, self._row, self._plan.until = 0, [], MOST

    def _look_in_a_row(self, told: Told, used: int) -> None:
        row = self._row
        row.append(told)
        self._left = self._left - 1 if look_plan.are_affordable() else 0
        counter, each = told
        if counter is not None:
            counter.add(used * each)
        if self._left == 0:
            if len(row) < _LONGEST_ROW and is_unclear(row) and look_plan.are_affordable():
                self._left = len(row)
                return
            self._kinds.become_as_in(row)
            self._row = []

    def _look_at_one(self, told: Told, used: int) -> None:
        is_mixed = self._kinds.are_mixed
        is_other = not is_mixed and not self._kinds.are(told)
        # One kind has ended, and another begun, nobody knows when.
        of_other = used // 2 if is_other else 0
        self._kinds.add(used - of_other)
        if is_other:
            self._kinds.become(told)
            self._kinds.add(of_other)
        self._plan.looked(used, is_alike=not (is_other or is_mixed))
        now = self._plan.last_ns
        if (
            (is_mixed or is_other)
            and now - self._row_ns > _NEXT_ROW_NS
            and look_plan.are_affordable()
        ):
            self._row_ns = now
            self._left, self._plan.until = _NEXT_ROW if is_mixed else _ROW, 1
        self._wait()

    def _take_unsaid(self) -> int:
        unsaid, self._unsaid = self._unsaid, 0
        return unsaid

    def _wait(self) -> None:
        """Look at the call after so many."""
        self._kinds.add(self._reckon(SPARE + self._plan.until - 1))

    def _reckon(self, ticks_left: Optional[int] = None) -> int:
        """The calls since this was asked last, each told once; from here on there are so many ticks left, or those that there were.

        Python changes threads, and calls handlers of signals, where a call has ended: there is one before the numbers are compared, and the next
        ends all. Where another thread or a turn asked in between, the calls are told there, and there are none here.
        """
        reckoned, begun = self._reckoned, self._from
        left: int = self._ticks.__length_hint__()
        if self._reckoned != reckoned:
            return 0
        self._reckoned = reckoned + 1
        if ticks_left is None:
            self._from = left
            return begun - left
        self._from = ticks_left
        self._ticks.__setstate__(ticks_left - 1)
        return begun - left


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


def mark_of(function: Any) -> Optional[CallMark]:
    """The mark in the code of ``function``, or None."""
    return _marks.get(id(function.__code__)) if type(function) is FunctionType else None


def mark_in(code: CodeType) -> Optional[CallMark]:
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


def _mark_for(code: CodeType, counter: Any, kind: Kind) -> Optional[CallMark]:
    _new[0] -= 1
    if _new[0] < 0:
        _forget_the_gone()
        _new[0] = max(_FEWEST_NEW, min(len(_marks), _MOST_MARKS - len(_marks)))
    found = _of_objects.get(id(code))
    if found is None:
        found = _of_codes.setdefault(value_of(code), [])
    there = [each for each in found if each.counter is counter]
    if len(there) >= _MOST_OF_A_CODE:
        return there[-1]
    if len(_marks) >= _MOST_MARKS:
        return there[-1] if there else None
    try:
        mark = CallMark(code, counter, kind)
    except (TypeError, ValueError):
        return None  # Of a Python that is not known.
    _marks[id(mark.code)] = mark
    found.append(mark)
    _of_objects[id(code)] = found
    return mark


def _forget_the_gone() -> None:
    """Functions of a module that is loaded again and again have new code each time."""
    for value, marks in list(_of_codes.items()):
        for mark in marks:
            mark.add_what_is_left()
        marks[:] = [mark for mark in marks if mark.is_used]
        if not marks:
            del _of_codes[value]
    used = {id(mark.own) for marks in _of_codes.values() for mark in marks}
    for number in _of_objects.keys() - used:
        del _of_objects[number]
    for number in [number for number, mark in _marks.items() if not mark.is_used]:
        # The collector knows no codes: each would keep its mark for ever, and that the code.
        _marks.pop(number).code = None


def add_what_is_left() -> None:
    """Count all calls up to now."""
    for mark in _called:
        mark.add_what_is_left()


def _turn() -> None:
    begun_ns = time.perf_counter_ns()
    first = _next[0] if _next[0] < len(_called) else 0
    _next[0] = first + _MOST_IN_A_TURN
    are_gone = False
    for mark in _called[first : _next[0]]:
        mark.turn()
        if not mark.is_used:
            mark.add_what_is_left()
            # It may be another function's once more, and is looked at anew then.
            mark.is_known, are_gone = False, True
    if are_gone:
        _called[:] = [mark for mark in _called if mark.is_known]
    look_plan.spend(time.perf_counter_ns() - begun_ns)


def forget_what_is_left() -> None:
    """In a forked child: what the parent had counted, and not added yet, is the parent's."""
    for mark in _called:
        mark.forget_what_is_left()


def step_aside() -> None:
    _be_quiet(True)


def step_back() -> None:
    _be_quiet(False)


def _be_quiet(are_quiet: bool) -> None:
    _are_quiet[0] = are_quiet
    for marks in list(_of_codes.values()):
        for mark in marks:
            mark.be_quiet(are_quiet)


turns.at_each(_turn)
aside.takes_part(sys.modules[__name__])
