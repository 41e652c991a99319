"""An environment of the program's own, which the recorder has found in its source: calls of its step from one place.

The recorder names the line and the method that it calls. A sample in the function of that line gives the object, and so the class
that is changed; the first result says whether it is a step at all.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from _weakref import ref
from sys import _getframe
from types import FunctionType

from .. import aside, foreign_errors
from ..code_places import comprehensions_at, instructions_at
from ..counters import TAKES_TURNS, EventCounter, counter
from ..plain_reads import (
    classes_of,
    names_of,
    qualname_of,
)
from .calls import (
    cost_of_a_call,
    counting_in_brief,
    given_back,
    handed_on,
    is_of_a_module,
    put_in_class,
)
from .direct import counting_directly, put_in_place, taken_from
from .dressing import OF_ERRORS, closed_over, in_place_of, is_counting, takes_self_and_one_more
from .in_threads import ThreadTurns
from .part_time import AWAY, BRIEF, DIRECT, LOOKS, PartTime, enrol
from .step_results import steps_of

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Optional

NAME = "steps:recognised"

_CO_GENERATORS = 32 | 128 | 512
_LOCAL = "<locals>"

_MOST_KEPT, _MOST_OTHERS = 64, 4
"""Classes of modules, and those that a program may make ever anew, that are counted at a time."""
_found: list[OwnEnvironment] = []
_turns: Optional[PartTime] = None
"""Turns of all that are counted; None before the first."""
_is_aside = False


class OwnEnvironment:
    """The method of one class, counted where certain lines call it.

    It holds neither the class nor a function: the program may let go of a class that it has made anew, with all that this refers to.
    """

    def __init__(self, owner: type, name: str, original: Any, counter: EventCounter) -> None:
        self.size = 0
        """Steps that a call makes; 0 until its first result was seen."""
        self.is_judged = False
        self.places: dict[int, set[int]] = {}
        """Instructions at which code calls it, by the number of the code."""
        self._asked: set[tuple[int, int, int]] = set()
        """Code and lines that were asked for: to find their instructions takes 60 µs, and the recorder asks again and again."""
        self._codes: list[CodeType] = []
        """Kept, so that their numbers are nobody else's."""
        self._owner, self._name, self._original = ref(owner), name, ref(original)
        self.is_of_a_module = is_of_a_module(original)
        self._counter = counter
        self.others = [0]
        """Calls from other places."""
        self.sizes: dict[int, int] = {}
        """None of objects: all of the class are of one size."""
        self._made: dict[int, Any] = {}
        """Weak references to the functions that count, by the way: the class holds the one that stands in it."""

    @property
    def is_there(self) -> bool:
        """True while the program has the class and its method."""
        return self._owner() is not None and self._original() is not None

    def _in_way(self, way: int, original: Any) -> Any:
        if way == AWAY:
            return original
        made = self._made_in(way)
        if made is None:
            if way == BRIEF:
                made = counting_in_brief(original, self._counter, self._counter.calls)
            elif way == LOOKS:
                made = _counted(original, self, self._counter)
            else:
                made = counting_directly(original, self, self._in_way(LOOKS, original), {})
            self._made[way] = ref(made)
        return made

    def _made_in(self, way: int) -> Any:
        """Return the function that counts in a way, if it is there."""
        made = self._made.get(way)
        return None if made is None else made()

    def count_at(self, code: CodeType, first: int, last: int) -> None:
        """Count what these lines of ``code`` call. Raises TypeError for a class whose attributes are fixed."""
        asked = id(code), first, last
        if asked in self._asked:
            return
        owner, original = self._owner(), self._original()
        if owner is None or original is None:
            return
        if not self.places:
            put_in_class(owner, self._name, self._in_way(LOOKS, original))
            _take_turns(self._counter)
        self._asked.add(asked)
        lines = range(first, last + 1)
        for each in (code, *comprehensions_at(code, lines)):
            if id(each) not in self.places:
                self._codes.append(each)
            self.places.setdefault(id(each), set()).update(instructions_at(each, lines))

    def put(self, way: int) -> None:
        """Count in one of the ways of ``part_time``, unless the program has put something else in its place."""
        owner, original = self._owner(), self._original()
        if owner is None or original is None:
            return
        is_bare = _is_aside or (self.is_judged and not self.size)
        now = names_of(owner).get(self._name)
        is_in_place = self.has(now)
        wanted = self._in_way(AWAY if is_bare else way, original)
        directly = self._made_in(DIRECT)
        if directly is not None:
            self.add(*taken_from(directly))
            # What the program has replaced, and calls, looks from where: the place is another now.
            put_in_place(directly, way == DIRECT and is_in_place)
        looking = self._made_in(LOOKS)
        if looking is not None:
            is_asked = way == LOOKS or (way == DIRECT and not is_in_place)
            closed_over(looking, "instead")[0] = None if is_asked and not is_bare else wanted
        if now is not wanted and is_in_place:
            if now is not original:
                given_back(now)
            if wanted is not original:
                handed_on(original, wanted)
            put_in_class(owner, self._name, wanted)

    def has(self, function: Any) -> bool:
        """Tell whether it is the method, or counts it."""
        made = [self._original(), *(each() for each in self._made.values())]
        return function is not None and any(function is each for each in made)

    def forget_what_is_left(self) -> None:
        """In a forked child: what the parent had counted, and not added yet, is the parent's."""
        directly = self._made_in(DIRECT)
        if directly is not None:
            taken_from(directly)

    def let_go(self) -> None:
        """Tell what was counted."""
        directly = self._made_in(DIRECT)
        if directly is not None:
            self.add(*taken_from(directly))

    def is_clear(self) -> bool:
        """Tell whether all calls ever were steps, as far as was looked."""
        return self.is_judged and not self.others[0]

    def heeding(self) -> float:
        """None: all that is counted directly are steps."""
        return 0.0

    def add(self, number: int, _more: int) -> None:
        """Count so many calls that were made directly, all of one size."""
        self._counter.add(number, number * (self.size - 1))

    def judge(self, stepped: Any, result: Any) -> int:
        """The steps that the first call has made; without any it is the last that is looked at."""
        try:
            self.size = steps_of(stepped, result)
        except Exception as error:
            foreign_errors.pass_on(error)
        self.is_judged = True
        if not self.size:
            self.put(AWAY)
        return self.size

    def __reduce__(self) -> Any:
        """As ``EventCounter.__reduce__``: a copy counts for nobody."""
        from types import SimpleNamespace

        return SimpleNamespace, (), {"size": 1, "places": {}, "others": [0], "add": max}


def step_aside() -> None:
    """Have every class its own method while an instrument of the program's is on."""
    global _is_aside
    _is_aside = True
    for own in _found:
        own.put(AWAY)


def step_back() -> None:
    global _is_aside
    _is_aside = False
    if _turns is not None:
        for own in _found:
            own.put(_turns.way)


def _take_turns(steps: EventCounter) -> None:
    global _turns
    if _turns is None:
        aside.takes_part(sys.modules[__name__])
        _turns = PartTime(steps, steps.calls, cost_of_a_call(steps, steps.calls))
        _turns.parts = _found
        ThreadTurns(_turns, steps)
    _found[:] = [own for own in _found if own.is_there]
    for stays, most in ((True, _MOST_KEPT), (False, _MOST_OTHERS)):
        alike = [own for own in _found if own.is_of_a_module is stays]
        for oldest in alike[:-most]:
            oldest.put(AWAY)
            _found.remove(oldest)
    _turns.begin()
    enrol(_turns)


def find(stepped: Any, name: str) -> Optional[OwnEnvironment]:
    """The method ``name`` of an object's class; None where that cannot be counted."""
    for owner in classes_of(type(stepped)):
        found = names_of(owner).get(name)
        if found is not None:
            return _counting(owner, name, found) if type(found) is FunctionType else None
    return None


def _counting(owner: type, name: str, found: Any) -> Optional[OwnEnvironment]:
    for own in _found:
        if own.has(found):
            return own
    code = found.__code__
    can_be = (
        not is_counting(found)
        and not code.co_flags & _CO_GENERATORS
        # Of a class that is made anew each time, the first alone would be counted.
        and _LOCAL not in qualname_of(owner)
        # To tell another signature would be an import in the midst of the program's work.
        and (takes_self_and_one_more(found) or "inspect" in sys.modules)
    )
    if not can_be:
        return None
    _found.append(OwnEnvironment(owner, name, found, counter(NAME)))
    return _found[-1]


def _counted(original: Any, own: OwnEnvironment, counter: EventCounter) -> Any:
    """Counts what is called from the places of ``own``, and passes on what others do: a search makes steps, too."""
    frame_above, number_of, places, calls = _getframe, id, own.places, counter.calls
    others, thread, left, told = own.others, get_ident, counter.left, TAKES_TURNS
    nowhere: tuple[int, ...] = ()
    instead: list[Any] = [None]
    """What is called in its place for now, where the program holds on to it."""
    (failure, with_traceback), no_frame = OF_ERRORS, ValueError
    __class__ = None

    # Written twice: a function for what both do would cost as much as they do, and be the frame above.
    def one(self: Any, argument: Any) -> Any:
        if False:
            return __class__
        direct = instead[0]
        try:
            if direct is not None:
                return direct(self, argument)
            calls[0] += 1
            result = original(self, argument)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        try:
            above = frame_above(1)
        except no_frame as error:
            if error.__traceback__ and error.__traceback__.tb_next:
                raise  # Of a signal handler of the program's.
            return result  # C code calls it, in a thread of its own or at the end.
        if above.f_lasti in places.get(number_of(above.f_code), nowhere):
            size = own.size or own.judge(self, result)
            counter.cell[0] += size
            me = thread()
            if me != told[0]:
                left[0] -= 1
                if left[0] < 0:
                    counter.in_thread(me)
        else:
            others[0] += 1
        return result

    def several(*args: Any, **kwargs: Any) -> Any:
        if False:
            return __class__
        direct = instead[0]
        try:
            if direct is not None:
                return direct(*args, **kwargs)
            calls[0] += 1
            result = original(*args, **kwargs)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        try:
            above = frame_above(1)
        except no_frame as error:
            if error.__traceback__ and error.__traceback__.tb_next:
                raise  # Of a signal handler of the program's.
            return result  # C code calls it, in a thread of its own or at the end.
        if above.f_lasti in places.get(number_of(above.f_code), nowhere):
            size = own.size or own.judge(args[0] if args else None, result)
            counter.cell[0] += size
            me = thread()
            if me != told[0]:
                left[0] -= 1
                if left[0] < 0:
                    counter.in_thread(me)
        else:
            others[0] += 1
        return result

    return in_place_of(original, one if takes_self_and_one_more(original) else several)
