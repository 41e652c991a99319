"""An environment of the program's own, which the recorder has found in its source: calls of its step from one place.

The recorder names the line and the method that it calls. A sample in the function of that line gives the object, and so the class
of which the method is. Its first result says whether it is a step at all: until then a function of ours stands in the class.
"""

from __future__ import annotations

import sys
from _weakref import ref
from sys import _getframe
from types import FunctionType

from .. import aside, foreign_errors, turns
from ..code_places import comprehensions_at, instructions_at
from ..counters import counter
from ..foreign_errors import KEEPS_SNAPSHOT
from ..layout import COUNTED_FILE
from ..plain_reads import classes_of, module_of, names_of, qualname_of, with_subclasses
from . import call_marks
from .call_kinds import NOT_AT_ALL
from .dressing import (
    OF_ERRORS,
    given_back,
    in_place_of,
    is_counting,
    put_in_class,
    takes_self_and_one_more,
)
from .step_results import comes_in_rows, copies_stated, rows_of, steps_of

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Optional

    from .call_kinds import Told

NAME = "steps:recognised"

_LOCAL = "<locals>"
_MOST_KEPT = 64
"""Methods that are counted at a time."""
_MOST_TURNS = 100
"""Turns, of 10 ms of CPU time, in which a line makes its first step, or none."""
_found: list[OwnEnvironment] = []
_was_aside = [False]
"""True once an instrument of the program's was on: it may know codes that it met, and be switched on again."""


class OwnEnvironment:
    """The method of one class, counted where certain lines call it.

    It holds neither the class nor a function: the program may let go of a class that it has made anew, with all that this refers to.
    """

    def __init__(self, owner: type, name: str, original: FunctionType) -> None:
        self.size = 0
        """Steps that the first call made; 0 until its result was seen."""
        self._goes_by_rows = False
        """True if it made as many as its action has rows: another object of the class may have more."""
        self.is_judged = False
        self.places: dict[int, set[int]] = {}
        """Instructions at which code calls it, by the number of the code."""
        self._asked: set[tuple[int, int, int]] = set()
        """Code and lines that were asked for: to find their instructions takes 60 µs, and the recorder asks again and again."""
        self._codes: list[CodeType] = []
        """Kept, so that their numbers are nobody else's."""
        self._owner, self._name, self._original = ref(owner), name, ref(original)
        self._judging: Any = None
        """A weak reference to the function that stands in the class."""
        self._turns_left = 0
        """For which that waits for a call from the places."""

    def has(self, function: Any) -> bool:
        """Tell whether it is the method, or stands for it."""
        judging = None if self._judging is None else self._judging()
        return function is not None and (function is self._original() or function is judging)

    @property
    def is_there(self) -> bool:
        """True while the program has the class and its method."""
        return self._owner() is not None and self._original() is not None

    def count_at(self, code: CodeType, first: int, last: int) -> None:
        """Count what these lines of ``code`` call, be it a method of this class or of a relative. Raises TypeError for a class whose attributes are fixed."""
        asked = id(code), first, last
        if asked in self._asked:
            return
        lines = range(first, last + 1)
        places = [
            (each, frozenset(instructions_at(each, lines)))
            for each in (code, *comprehensions_at(code, lines))
        ]
        self._count_at(asked, places)
        for own in self._relatives():
            try:
                own._count_at(asked, places)
            except TypeError:
                pass  # As above.

    def _count_at(
        self, asked: tuple[int, int, int], places: list[tuple[CodeType, frozenset[int]]]
    ) -> None:
        if asked in self._asked:
            return
        if not self.places:
            self.step_back()
        self._asked.add(asked)
        for code, instructions in places:
            if id(code) not in self.places:
                self._codes.append(code)
            self.places.setdefault(id(code), set()).update(instructions)

    def kind(self, frame: FrameType, stepped: Any) -> Told:
        """A step where it is called from the places: a search makes steps, too."""
        above = frame.f_back
        if above is not None and above.f_code.co_filename == COUNTED_FILE:
            above = above.f_back  # The program holds on to what has stood in the class.
        if not self.is_called_by(above):
            return NOT_AT_ALL
        return counter(NAME), copies_stated(stepped) or self._rows_in(frame) or self.size

    def _rows_in(self, frame: FrameType) -> int:
        """The rows of the action that the method was called with; 0 where steps do not go by them."""
        code = frame.f_code
        if not self._goes_by_rows or code.co_argcount < 2:
            return 0
        names = frame.f_locals
        action = names.get(code.co_varnames[1])
        if KEEPS_SNAPSHOT:
            names.clear()
        return rows_of(action)

    def _relatives(self) -> list[OwnEnvironment]:
        """The methods of classes that share a base of the program's own: a line that steps one of a family of tasks steps others, too."""
        owner = self._owner()
        package = "" if owner is None else _package_of(owner)
        if not package:
            return []
        bases = [base for base in classes_of(owner)[1:] if _package_of(base) == package]
        # By number: a metaclass of the program's may say what is equal.
        family = {id(each): each for base in bases for each in with_subclasses(base)}
        relatives = []
        for each in family.values():
            method = names_of(each).get(self._name)
            # A search may keep a thousand classes.
            if type(method) is FunctionType and len(_found) < _MOST_KEPT:
                own = _counting(each, self._name, method)
                relatives += [] if own is None or own is self else [own]
        return relatives

    def is_called_by(self, frame: Optional[FrameType]) -> bool:
        return frame is not None and frame.f_lasti in self.places.get(id(frame.f_code), ())

    def judge(self, stepped: Any, action: Any, result: Any) -> None:
        """Tell by the first result whether its calls are steps, and how many each is."""
        try:
            self.size = steps_of(stepped, result)
            self._goes_by_rows = self.size == rows_of(action) > 0 and comes_in_rows(result)
        except Exception as error:
            foreign_errors.pass_on(error)
        self.is_judged = True
        self.step_aside()
        original = self._original()
        if self.size and original is not None and not _was_aside[0]:
            counter(NAME).add(self.size)
            call_marks.count(original, counter(NAME), self.kind)

    def step_aside(self) -> None:
        """Have the class its own method, where the program has put nothing else in its place."""
        owner = self._owner()
        if owner is not None and self._judging is not None:
            now = names_of(owner).get(self._name)
            if now is not None and now is self._judging():
                put_in_class(owner, self._name, given_back(now))

    def step_back(self) -> None:
        owner, original = self._owner(), self._original()
        is_wanted = owner is not None and not self.is_judged
        if is_wanted and names_of(owner).get(self._name) is original:
            judging = _judging(original, self)
            self._judging, self._turns_left = ref(judging), _MOST_TURNS
            put_in_class(owner, self._name, judging)  # type: ignore[arg-type]  # not None here

    def turn(self) -> None:
        """Give up where the line makes no step any more: the recorder asks for it again when it is hot."""
        if self._turns_left > 0 and not self.is_judged:
            self._turns_left -= 1
            if not self._turns_left:
                self.step_aside()
                self.places.clear()
                self._asked.clear()

    def __reduce__(self) -> Any:
        """A function that is pickled by value takes it along: a copy judges nothing."""
        from operator import not_
        from types import SimpleNamespace

        return SimpleNamespace, (), {"is_called_by": not_}


def _package_of(owner: type) -> str:
    module = module_of(owner)
    name = module.partition(".")[0] if type(module) is str else ""
    return "" if name == "builtins" else name


def find(stepped: Any, name: str) -> Optional[OwnEnvironment]:
    """The method ``name`` of an object's class; None where that cannot be counted."""
    if _was_aside[0] or "line_profiler" in sys.modules:
        return None
    for owner in classes_of(type(stepped)):
        found = names_of(owner).get(name)
        if found is not None:
            return _counting(owner, name, found) if type(found) is FunctionType else None
    return None


def _counting(owner: type, name: str, found: FunctionType) -> Optional[OwnEnvironment]:
    for own in _found:
        if own.has(found):
            return own
    can_be = (
        call_marks.can_count(found)
        and not is_counting(found)
        and call_marks.mark_of(found) is None
        # Of a class that is made anew each time, the first alone would be counted.
        and _LOCAL not in qualname_of(owner)
        # To tell another signature would be an import in the midst of the program's work.
        and (takes_self_and_one_more(found) or "inspect" in sys.modules)
    )
    if not can_be:
        return None
    _found[:] = [own for own in _found if own.is_there][-_MOST_KEPT:]
    own = OwnEnvironment(owner, name, found)
    _found.append(own)
    return own


def step_aside() -> None:
    _was_aside[0] = True
    for own in _found:
        own.step_aside()


def step_back() -> None:
    """Stay aside: a code that changes between two times of a profiler's is two for it."""


def _judging(original: FunctionType, own: OwnEnvironment) -> Any:
    frame_above, (failure, with_traceback), no_frame = _getframe, OF_ERRORS, ValueError
    __class__ = None

    def judged(*args: Any, **kwargs: Any) -> Any:
        if False:
            return __class__
        try:
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
        if own.is_called_by(above) and not own.is_judged:
            stepped, action = (*args, *kwargs.values(), None, None)[:2]
            own.judge(stepped, action, result)
        return result

    return in_place_of(original, judged)


def _turn() -> None:
    for own in _found:
        own.turn()


aside.takes_part(sys.modules[__name__])
turns.at_each(_turn)
