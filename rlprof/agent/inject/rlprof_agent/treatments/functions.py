"""Functions of the program as they are found by where they were written, and code that takes the place of theirs.

A function's code is changed and not the function itself: whoever holds on to it, as by ``step = env.step``, gets what is on. It takes effect at the
next call.
"""

from __future__ import annotations

# The C module, without stubs: ``functools`` would pull in collections.
from _functools import partial  # type: ignore[import-not-found]
from dis import findlinestarts
from types import CodeType, FunctionType

from ..code_places import file_of
from ..counted.call_marks import counted_as
from ..counted.dressing import is_counting, original_of
from ..layout import TREATED_FILE
from ..plain_reads import MISSING, in_classes
from ..real import gc, sys, time
from . import AbsentError, RefusedError

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

MARK = "\x1erlprof\x1e"
"""A text in newly compiled code, the place of an object that it is to call."""

_IN_BETWEEN = 1.5
"""Time of calls in between the program's, over what they take in a row, where they are timed. Of ``log_each_step`` of the accuracy set, of
60 µs a step, 8.4 were ours and 5.4 had been timed (2026-11-27)."""
_ROUNDS, _CALLS = 5, 50

_RESUMES = 0x20 | 0x80 | 0x100 | 0x200
"""Flags of generators and coroutines, whose call only makes an object."""


def written_at(file: str, line: int, name: str, *, within: bool = False) -> list[FunctionType]:
    """All functions whose code begins at ``line`` of ``file``, or has it ``within``; be they one for each closure.

    Raises ``AbsentError`` where there is none, ``RefusedError`` as :func:`expect_no_compiler` does.
    """
    found = [
        each
        for each in gc.get_objects()
        if type(each) is FunctionType
        and each.__code__.co_name == name
        and file_of(each.__code__, each.__globals__) == file
        and (_has_line(each.__code__, line) if within else each.__code__.co_firstlineno == line)
    ]
    if not found:
        raise AbsentError(name)
    expect_no_compiler()
    return found


def _has_line(code: CodeType, line: int) -> bool:
    last = max([number for _, number in findlinestarts(code) if number], default=0)
    return code.co_firstlineno <= line <= last


def named(module: str, qualname: str) -> FunctionType:
    """The function that a module has under a name; ``__main__`` goes by the name of its file, too.

    Raises ``AbsentError`` where the module was not imported, ``RefusedError`` where it has no such function of Python's.
    """
    found: Any = sys.modules.get(module)
    if found is None:
        main = sys.modules["__main__"]
        file = getattr(main, "__file__", None) or ""
        if (
            module != "__main__"
            and not file.endswith("/" + module + ".py")
            and file != module + ".py"
        ):
            raise AbsentError(module)
        found = main
    names: Any = vars(found)
    for part in qualname.split("."):
        if type(names) is dict:
            found = names.get(part)
        else:
            found = in_classes(names, part) if isinstance(names, type) else MISSING
        names = found
    if type(found) in (staticmethod, classmethod):
        found = found.__func__
    while is_counting(found):
        found = original_of(found)
    if type(found) is not FunctionType:
        raise RefusedError("%s has no function %s" % (module, qualname))
    expect_no_compiler()
    return found


def expect_no_compiler() -> None:
    """Raise ``RefusedError`` where torch.compile has made something of the program: it looks at codes to know what it has compiled."""
    compiled = getattr(sys.modules.get("torch._dynamo.convert_frame"), "input_codes", None)
    if getattr(compiled, "seen", None):
        raise RefusedError(
            "torch.compile is at work in the program, and would compile anew at each switch"
        )


_ON: list[CodeType] = []
"""All code of ours that functions have by now."""


class SwappedCode:
    """Functions that get code of ours, and their own again.

    ``put_on`` raises ``RefusedError`` where another treatment has changed one of them: it would be left out, and the two be measured as one.
    """

    def __init__(
        self, functions: list[FunctionType], treated: Callable[[FunctionType], CodeType]
    ) -> None:
        self._codes = [
            (each, each.__code__, counted_as(each.__code__, treated(each))) for each in functions
        ]

    def put_on(self) -> None:
        for function, own, treated in self._codes:
            if function.__code__ is own:
                function.__code__ = treated
                _ON.append(treated)
            elif any(each is function.__code__ for each in _ON):
                raise _changed_twice(function.__name__)

    def take_off(self) -> None:
        for function, own, treated in self._codes:
            # Not where the program has given it other code meanwhile.
            if function.__code__ is treated:
                function.__code__ = own
            # By itself: code is equal to code that reads the same.
            _ON[:] = [each for each in _ON if each is not treated]


def _changed_twice(name: str) -> RefusedError:
    return RefusedError("two treatments change %s" % name)


_IN_PLACE: list[Any] = []
"""All functions of ours that modules have by now."""


class SwappedAttribute:
    """A module that gets a function of ours under a name, and its own again. ``put_on`` raises as that of :class:`SwappedCode`."""

    def __init__(self, module: Any, name: str, treated: Any) -> None:
        self._names = vars(module)
        self._name, self._own, self._treated = name, self._names[name], treated

    def put_on(self) -> None:
        there = self._names.get(self._name)
        if there is self._own:
            self._names[self._name] = self._treated
            _IN_PLACE.append(self._treated)
        elif any(each is there for each in _IN_PLACE):
            raise _changed_twice(self._name)

    def take_off(self) -> None:
        if self._names.get(self._name) is self._treated:
            self._names[self._name] = self._own
        _IN_PLACE[:] = [each for each in _IN_PLACE if each is not self._treated]


def calling(function: FunctionType, instead: Any) -> CodeType:
    """Code for ``function`` that calls ``instead`` with what it is given.

    Raises ``RefusedError`` for a generator or coroutine.
    """
    code = function.__code__
    if code.co_flags & _RESUMES:
        raise RefusedError("%s is a generator or coroutine" % code.co_name)
    names = code.co_freevars
    lines = ["def outer():", *["  %s = None" % name for name in names]]
    lines += ["  def inner(*args, **kwargs):"]
    if names:
        # Never run: it has the same names taken from around it as the code in whose place it stands.
        lines += ["    if False: return (%s,)" % ", ".join(names)]
    lines += [
        "    try:",
        "      return (CALLED or CALLED)(*args, **kwargs)",
        "    except BaseException as error:",
        "      (TRIMMED or TRIMMED)(error)",
        "      raise",
        "  return inner",
    ]
    text = "\n".join(lines).replace("CALLED", repr(MARK)).replace("TRIMMED", repr(MARK + "1"))
    outer = next(
        each
        for each in compile(text, "", "exec", dont_inherit=True).co_consts
        if type(each) is CodeType
    )
    inner = next(each for each in outer.co_consts if type(each) is CodeType)
    if inner.co_freevars != names:
        raise RefusedError("what %s takes from around it has changed" % code.co_name)
    code_of_call = with_objects(
        inner, [held(instead, own_copy(function)), held(_without_ours, SILENT)]
    )
    # Python 3.9 tells the name of a call with wrong arguments.
    return code_of_call.replace(co_filename=TREATED_FILE, co_name=code.co_name)


class HeldCall(partial):  # type: ignore[misc]  # has no stubs
    """An object that treated code calls. A program that pickles its code by value, as cloudpickle does with that of its script, takes along what it
    would be untreated.
    """

    untreated: Any

    def __reduce__(self) -> Any:
        return partial, (self.untreated,)


def held(instead: Any, untreated: Any) -> HeldCall:
    """``instead`` for treated code to call, and ``untreated`` for pickles: a function without a module of its own, which goes by value."""
    held = HeldCall(instead)
    held.untreated = untreated
    return held


def _of_no_module(function: Any) -> Any:
    return FunctionType(function.__code__, {"__builtins__": __builtins__}, function.__name__)


ALLOWED = _of_no_module(lambda *_: True)
CALLED = _of_no_module(lambda function, *args, **kwargs: function(*args, **kwargs))
IN_NOTHING = _of_no_module(lambda: __import__("contextlib").nullcontext())
SILENT = _of_no_module(lambda _: None)
"""Stand-ins for the calls of treated code where it is untreated: allow a statement, make a call, open a block, look at an error."""


def unseen(instead: Any) -> Any:
    """``instead``, past which warnings with a ``stacklevel`` go, and errors from Python 3.11 on."""
    function = getattr(instead, "__func__", instead)
    function.__code__ = function.__code__.replace(co_filename=TREATED_FILE)
    return instead


def _without_ours(error: BaseException) -> None:
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename == TREATED_FILE:
        traceback = traceback.tb_next
    BaseException.with_traceback(error, traceback)


def with_objects(code: CodeType, objects: list[Any]) -> CodeType:
    """``code`` with ``objects`` in the places of its marks: ``MARK``, ``MARK1``, and so on, in nested code too."""
    marks = {MARK + (str(number) if number else ""): each for number, each in enumerate(objects)}
    return code.replace(
        co_consts=tuple(
            marks.get(each, each)
            if type(each) is str
            else with_objects(each, objects)
            if type(each) is CodeType
            else each
            for each in code.co_consts
        )
    )


def own_copy(function: FunctionType) -> FunctionType:
    """A function of its own with the code that ``function`` has now, to be called while that has another."""
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def call_ns(function: Any, *args: Any, told: Optional[list[int]] = None) -> int:
    """Time that a call takes in between those of the program, less what it has ``told`` itself: by the shortest of some rounds, a tenth of a millisecond in all."""
    told = [0] if told is None else told
    rounds = []
    for _ in range(_ROUNDS):
        told[0] = 0
        begun_ns = time.perf_counter_ns()
        for _ in range(_CALLS):
            function(*args)
        rounds.append((time.perf_counter_ns() - begun_ns - told[0]) // _CALLS)
    return round(_IN_BETWEEN * min(rounds))
