"""TreatedCalls of a function that are left out, answered from memory, made without gradients, or made of another function."""

from __future__ import annotations

from _thread import get_ident, start_new_thread
from types import BuiltinFunctionType, CodeType, FunctionType

from .. import foreign_errors
from ..real import os, sys, time
from . import RefusedError, library
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
from .memories import Guard, Memory, shape_of
from .reuse import fresh, objects, what_ends

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, Optional

    from . import AskedPart

_FRAMES = 8
"""Frames from a treated function on, among which that of the line that calls it is looked for: others are of counters and of torch."""


_MISSED = 16
"""TreatedCalls that were left out, of which is known what they were given."""
_LOOK_S = 0.05
_SILENT_NS = 1_000_000_000
_SILENT = 10
"""Times the longest time between two calls, after which no further one may come."""
_WAITING = (
    "multiprocessing/connection.py",
    "multiprocessing/queues.py",
    "multiprocessing/synchronize.py",
    "/queue.py",
    "/selectors.py",
    "/socket.py",
    "/threading.py",
)

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
            return made.called
        return made

    def put_on(self) -> None:
        for each in self._left_out:
            each.begin()
        self._put_on()

    def take_off(self) -> None:
        self._take_off()
        for each in self._left_out:
            each.end()


def frame_ns(part: dict[str, Any]) -> int:
    """Time that a call of a treated function takes around ours."""

    def _nothing(*_: Any) -> None:
        pass

    nothing: Any = _nothing
    # From a line of this file, as the program's comes from its own.
    lines = {"from_file": nothing.__code__.co_filename, "from_line": 0, "to_line": 1 << 30}
    treated = own_copy(nothing)
    instead = _from_its_lines(lines if "from_file" in part else {}, nothing, own_copy(nothing))
    treated.__code__ = calling(nothing, unseen(instead))
    return max(0, call_ns(treated, None, None) - call_ns(nothing, None, None))


def _attribute(part: dict[str, Any]) -> Any:
    """The function in C that a module has under a name."""
    function = vars(library(part["module"])).get(part["attribute"])
    if type(function) is not BuiltinFunctionType:
        raise RefusedError("%s has no function %s" % (part["module"], part["attribute"]))
    return function


class _Left:
    """Make every n-th call; the others get what the last one gave.

    With ``messages`` somebody may wait for each of these calls, and the training for him. So a thread looks, while it is on, whether the
    program has come to a stop: the main thread would hear of no signal in its wait.
    """

    def __init__(self, original: Any, asked: AskedPart) -> None:
        self._original = original
        self._asked = asked
        self._guard = Guard(asked)
        self._every = asked.part["every"]
        self._sends = bool(asked.part.get("messages"))
        self._main = get_ident()
        self._left = 0
        self._answer: Any = None
        self._missed: list[tuple[Any, Any]] = []
        self._came_ns = self._longest_ns = 0
        self._is_on = False
        self._watched_in = 0
        """The process that has a thread for it: a forked child has none."""

    def called(self, *args: Any, **kwargs: Any) -> Any:
        asked, entered_ns = self._asked, time.perf_counter_ns()
        asked.reached[0] += 1
        self._left -= 1
        if self._sends:
            self._note(args, kwargs, entered_ns)
        if self._left > 0:
            asked.costs(time.perf_counter_ns() - entered_ns)
            return self._answer
        self._missed.clear()
        answer = self._guard.call(self._original, args, kwargs)
        # After it: an error is no answer, and the next call is made.
        self._answer, self._left = answer, self._every
        return answer

    def begin(self) -> None:
        self._left = self._came_ns = 0
        self._is_on = True

    def end(self) -> None:
        self._is_on = False
        self._missed.clear()

    def _note(self, args: Any, kwargs: Any, now_ns: int) -> None:
        if self._came_ns:
            self._longest_ns = max(self._longest_ns, now_ns - self._came_ns)
        self._came_ns = now_ns
        self._missed.append((args, kwargs))
        del self._missed[:-_MISSED]
        if self._watched_in != os.getpid():
            self._watched_in = os.getpid()
            start_new_thread(self._watch, ())

    def _watch(self) -> None:
        try:
            while self._is_on:
                time.sleep(_LOOK_S)
                if self._has_stopped():
                    self._make_up()
        except Exception as error:
            foreign_errors.pass_on(error)
            self._asked.failed(error)
        finally:
            self._watched_in = 0

    def _has_stopped(self) -> bool:
        if not self._missed or not self._came_ns:
            return False
        silent_ns = time.perf_counter_ns() - self._came_ns
        if silent_ns <= max(_SILENT_NS, _SILENT * self._longest_ns):
            return False
        frame = sys._current_frames().get(self._main)
        return frame is not None and frame.f_code.co_filename.endswith(_WAITING)

    def _make_up(self) -> None:
        """Make the calls that were left out: the program would wait for ever for what they send."""
        missed, self._missed = self._missed, []
        self._asked.failed(RefusedError("the training waits for each of these calls"))
        for args, kwargs in missed:
            self._original(*args, **kwargs)


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
    if asked.part.get("makes"):
        return objects(original, asked)
    memory = Memory(asked)

    def called(*args: Any, **kwargs: Any) -> Any:
        return memory.answer(original, args, kwargs)

    return called


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
            if frame is None or frame.f_code.co_filename == file:
                break
            frame = frame.f_back
        if (
            frame is not None
            and frame.f_code.co_filename == file
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
