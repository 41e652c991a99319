"""Calls of a function that are left out, answered from memory, made without gradients, or made of another function."""

from __future__ import annotations

from types import BuiltinFunctionType, CodeType, FunctionType

from .. import foreign_errors
from ..code_places import file_of
from ..real import sys, time
from . import AskedPart, RefusedError, library
from .arrays import arrays_first
from .functions import (
    SwappedAttribute,
    SwappedCode,
    call_ns,
    calling,
    named,
    own_copy,
    unseen,
    written_at,
)
from .memories import Guard, Memory, shape_of, shapes_of
from .missed import MissedCalls
from .reuse import fresh, objects, what_ends

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, Optional


_FRAMES = 8
"""Frames from a treated function on, among which that of the line that calls it is looked for: others are of counters and of torch."""


_MISSED = 16
"""Calls that were left out, of which is known what they were given."""
_NEVER, _ENOUGH = 1 << 60, 40
"""A number of calls of which none is to be made, and one after which a memory is full."""
_OBJECTS = 64
"""Objects whose attributes are kept, one for each shape of input."""


class TreatedCalls:
    """A function, by ``file``, ``line`` and ``name``, or by ``module`` and ``qualname``, or one in C by ``module`` and ``attribute``, of
    whose calls ``what`` becomes.

    With ``from_file``, ``from_line`` and ``to_line`` those alone that these lines make.
    """

    def __init__(self, asked: AskedPart) -> None:
        part = asked.part
        asked.frame_ns = frame_ns(part)
        self._left_out: list[_Left] = []
        self._missed: list[MissedCalls] = []
        if "attribute" in part:
            function = _attribute(part)
            attribute = SwappedAttribute(
                library(part["module"]),
                part["attribute"],
                _from_its_lines(part, function, self._made(function, asked)),
            )
            self._put_on, self._take_off = attribute.put_on, attribute.take_off
            return
        functions = (
            [named(part["module"], part["qualname"])]
            if "module" in part
            else written_at(
                part["file"], part["line"], part["name"], within=bool(part.get("within"))
            )
        )

        def treated(function: FunctionType) -> CodeType:
            original = own_copy(function)
            made = self._made(original, asked)
            return calling(function, unseen(_from_its_lines(part, original, made)))

        code = SwappedCode(functions, treated)
        self._put_on, self._take_off = code.put_on, code.take_off

    def _made(self, original: Any, asked: AskedPart) -> Any:
        made = _MADE[asked.part["what"]](original, asked)
        if type(made) is _Left:
            self._left_out.append(made)
            if made.missed is not None:
                self._missed.append(made.missed)
            return made.called
        if type(made) is Memory:
            self._missed.append(made.missed)
            return made.called
        return made

    def put_on(self) -> None:
        for left in self._left_out:
            left.begin()
        for missed in self._missed:
            missed.begin()
        self._put_on()

    def take_off(self) -> None:
        self._take_off()
        for each in self._missed:
            each.end()


def frame_ns(part: dict[str, Any]) -> int:
    """Time of a treated call that it does not tell of itself: that of the frames around ours, and of the telling."""

    def _nothing(*_: Any) -> None:
        pass

    nothing: Any = _nothing
    what, told = part.get("what"), [0]
    ours = own_copy(nothing)
    if what in ("every", "from-memory"):
        ours = _MADE[what](ours, AskedPart({"every": _NEVER}, [0], nothing, told)).called
        for _ in range(_ENOUGH):
            ours(None, None)  # Until all are answered without being made.
    # From a line of this file, as the program's comes from its own.
    lines = {"from_file": nothing.__code__.co_filename, "from_line": 0, "to_line": 1 << 30}
    treated = own_copy(nothing)
    instead = _from_its_lines(lines if "from_file" in part else {}, nothing, ours)
    treated.__code__ = calling(nothing, unseen(instead))
    return max(0, call_ns(treated, None, None, told=told) - call_ns(nothing, None, None))


def _attribute(part: dict[str, Any]) -> Any:
    """The function in C that a module has under a name."""
    function = vars(library(part["module"])).get(part["attribute"])
    if type(function) is not BuiltinFunctionType:
        raise RefusedError("%s has no function %s" % (part["module"], part["attribute"]))
    return function


_PLAIN = frozenset((type(None), bool, int, float, str, bytes))
"""Types of answers that do for any call."""


class _Left:
    """Make every n-th call; the others get what the last one gave, if that is plain or was given for as much. With ``messages`` somebody may wait
    for each of these calls.
    """

    def __init__(self, original: Any, asked: AskedPart) -> None:
        self._original = original
        self._asked = asked
        self._guard = Guard(asked, may_send=True)
        self._every = asked.part["every"]
        self.missed = MissedCalls(asked, _MISSED) if asked.part.get("messages") else None
        self._left = 0
        self._answer: Any = None
        self._given: Any = None
        """Shapes of what it was given for an answer that is not plain."""

    def called(self, *args: Any, **kwargs: Any) -> Any:
        asked, entered_ns = self._asked, time.perf_counter_ns()
        self._left -= 1
        does_for = self._left <= 0 or self._does_for(args, kwargs)
        if does_for:
            asked.reached[0] += 1
        if self.missed is not None:
            self.missed.note(self._original, args, kwargs, entered_ns)
        if self._left > 0 and does_for:
            asked.costs(time.perf_counter_ns() - entered_ns)
            return self._answer
        if self.missed is not None:
            self.missed.forget()
        answer = self._guard.call(self._original, args, kwargs)
        # After it: an error is no answer, and the next call is made.
        self._answer, self._left = answer, self._every
        self._given = None if type(answer) in _PLAIN else self._shapes(args, kwargs)
        return answer

    def _does_for(self, args: Any, kwargs: Any) -> bool:
        """Tell whether the last answer may stand for that of this call: of a policy on longer texts another tensor is expected."""
        return type(self._answer) in _PLAIN or self._given == self._shapes(args, kwargs)

    def _shapes(self, args: Any, kwargs: Any) -> Any:
        try:
            return shapes_of(args, by_kind=True), shapes_of(tuple(kwargs.values()), by_kind=True)
        except Exception as error:
            foreign_errors.pass_on(error)
            return object()  # As no other's.

    def begin(self) -> None:
        self._left = 0


def _pauses(original: Any, asked: AskedPart) -> Any:
    """Sleep after each answer that says no."""
    no, pause_s = bool(asked.part["no"]), asked.part["pause_us"] / 1e6

    def called(*args: Any, **kwargs: Any) -> Any:
        asked.reached[0] += 1
        answer = original(*args, **kwargs)
        if answer is no:
            time.sleep(pause_s)
        return answer

    return called


def _chunks_of_one(original: Any, asked: AskedPart) -> Any:
    """Hand out tasks one by one: ``chunksize`` is 1, whether it comes by name or, where it may, at ``position``."""
    position = asked.part["position"]

    def called(*args: Any, **kwargs: Any) -> Any:
        asked.reached[0] += 1
        if position and len(args) > position:
            args = (*args[:position], 1, *args[position + 1 :])
        else:
            kwargs["chunksize"] = 1
        return original(*args, **kwargs)

    return called


def _arrays_first(original: Any, asked: AskedPart) -> Any:
    """As the edit of the same name does, where the calls stand in a loop that never ends."""
    made = arrays_first(asked)

    def called(*args: Any, **kwargs: Any) -> Any:
        return made(original, *args, **kwargs)

    return called


def _from_memory(original: Any, asked: AskedPart) -> Any:
    """Answer by what an input of the same shape got before; with ``makes`` these are objects that the program uses."""
    return objects(original, asked) if asked.part.get("makes") else Memory(asked, original)


def _made_from_memory(original: Any, asked: AskedPart) -> Any:
    """Give a new object the attributes that one made of the same input has: ``original`` is an ``__init__``."""
    known: dict[Any, dict[str, Any]] = {}
    name = asked.part.get("qualname", "").rpartition(".")[0].rpartition(".")[2]

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        # It may be inherited by others, too.
        if name and type(self).__name__ != name:
            original(self, *args, **kwargs)
            return
        asked.reached[0] += 1
        entered_ns = time.perf_counter_ns()
        key = (type(self), shape_of(args, 3), shape_of(kwargs, 3))
        attributes = known.get(key)
        if attributes is not None:
            vars(self).update(fresh(attributes))
            asked.cost_ns[0] += time.perf_counter_ns() - entered_ns
            return
        original(self, *args, **kwargs)
        if len(known) < _OBJECTS and hasattr(self, "__dict__"):
            ending = what_ends(vars(self))
            if ending:
                asked.failed(RefusedError("its %s can be closed or used up" % ending))
                return
            # As they are now: the object goes on with its own.
            known[key] = fresh(dict(vars(self)))

    return made


def _without_gradients(original: Any, asked: AskedPart) -> Any:
    no_grad = library("torch").no_grad

    def called(*args: Any, **kwargs: Any) -> Any:
        asked.reached[0] += 1
        with no_grad():
            return original(*args, **kwargs)

    return called


def _from_its_lines(part: dict[str, Any], original: Any, treated: Any) -> Any:
    """``treated`` for the calls from the lines that are meant, where the part names some, and ``original`` for all others."""
    if "from_file" not in part:
        return treated
    unseen(treated)
    file, first, last = part["from_file"], part["from_line"], part["to_line"]

    def called(*args: Any, **kwargs: Any) -> Any:
        frame: Optional[FrameType] = sys._getframe(1)
        for _ in range(_FRAMES):
            if frame is None or file_of(frame.f_code, frame.f_globals) == file:
                break
            frame = frame.f_back
        if (
            frame is not None
            and file_of(frame.f_code, frame.f_globals) == file
            and first <= frame.f_lineno <= last
        ):
            return treated(*args, **kwargs)
        return original(*args, **kwargs)

    return called


def _replaced(original: Any, asked: AskedPart) -> Any:
    """Call a function of a file of the user's in its place."""
    part = asked.part
    raised: list[Any] = [None]

    def own(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except Exception as error:
            raised[0] = error
            raise

    names = {"__name__": "rlprof_replacement", "__file__": part["with_file"], "original": own}
    try:
        with open(part["with_file"], "rb") as file:
            exec(compile(file.read(), part["with_file"], "exec", dont_inherit=True), names)
    except SystemExit as error:
        raise RefusedError("%s ends its program" % part["with_file"]) from error
    replacement = names.get(part["with_name"])
    if not callable(replacement):
        raise RefusedError("%s has no function %s" % (part["with_file"], part["with_name"]))

    def called(*args: Any, **kwargs: Any) -> Any:
        asked.reached[0] += 1
        try:
            return replacement(*args, **kwargs)
        except Exception as error:
            if error is raised[0]:
                raised[0] = None
                raise  # The program's own call has raised it.
            foreign_errors.pass_on(error)
            asked.failed(error)
        return original(*args, **kwargs)

    return called


_MADE: dict[str, Callable[[FunctionType, AskedPart], Any]] = {
    "every": _Left,
    "pauses": _pauses,
    "chunks-of-one": _chunks_of_one,
    "arrays-first": _arrays_first,
    "from-memory": _from_memory,
    "made-from-memory": _made_from_memory,
    "without-gradients": _without_gradients,
    "replaced": _replaced,
}
