"""Answers that were given before, by the shapes of what was asked."""

from __future__ import annotations

from types import FunctionType, MethodType, ModuleType

from .. import foreign_errors
from ..counters import counted
from ..real import gc, os, sys, time
from . import RefusedError
from .functions import unseen
from .missed import MissedCalls

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

    from . import AskedPart

_ANSWERS = 32
"""Answers that are kept for each shape of input, and given in turn: an environment may not say for ever that its episode goes on."""
_FILLING_NS = 50_000_000
"""Time that may be spent on the answers for one shape: with those of a slow function the slots would be over before all were there."""
_UNANSWERED_NS = 500_000_000
"""Time that calls may take of which none is answered yet: each is then told from the others by what no two of them share."""
_SHAPES = 64
_SHAPED = frozenset((bool, str, bytes, type(None), tuple, list, dict, complex))
_DEEP = 3
_PARTS = 2_000
_SHARED = type, ModuleType, int, float, str, bytes


class Guard:
    """Takes a treatment away that would spoil what it measures, or the program.

    With ``may_send`` what it treats may be read by other processes; whoever says so makes up for what they miss.
    """

    def __init__(self, asked: AskedPart, *, may_send: bool = False) -> None:
        self._asked = asked
        self._counter = asked.part.get("counter", "")
        self._looks_at_files = not may_send

    def call(self, original: Any, args: Any, kwargs: Any) -> Any:
        """Call ``original`` for an answer that is to be given again."""
        before, files_before = counted(self._counter), self._calls_of_files()
        answer = original(*args, **kwargs)
        if counted(self._counter) != before:
            self._asked.failed(RefusedError("the steps that are counted are made within it"))
        elif self._calls_of_files() > files_before + 1 and speaks_with_others():
            self._asked.failed(
                RefusedError("it reads or writes, and another process may wait for that")
            )
        elif carries_graph(answer):
            self._asked.failed(RefusedError("gradients go back through its answer"))
        return answer

    def _calls_of_files(self) -> int:
        return calls_of_files() if self._looks_at_files else 0


unseen(Guard.call)


class Memory:
    """The answers of ``original``, or of the functions that are called at a place."""

    def __init__(self, asked: AskedPart, original: Any = None) -> None:
        self._asked = asked
        self._original = original
        self._guard = Guard(asked)
        self._known: dict[Any, _Answers] = {}
        self._by_kind = False
        """True where objects are told apart by their types alone: new ones come with each call, or too many."""
        self._unanswered_ns = 0
        # The last alone: those before it have been waited for.
        self.missed = MissedCalls(asked, 1)

    def called(self, *args: Any, **kwargs: Any) -> Any:
        return self.answer(self._original, args, kwargs)

    def answer(self, original: Any, args: Any, kwargs: Any) -> Any:
        """Answer ``original(*args, **kwargs)`` by what it gave before."""
        entered_ns = time.perf_counter_ns()
        if self.missed.are_waited_for:
            return original(*args, **kwargs)
        try:
            by_kind = self._by_kind
            given = shapes_of(args, by_kind=by_kind)
            named = shape_of(kwargs, _DEEP, by_kind) if kwargs else None
            key = _identity(original, by_kind=by_kind), given, named
            answers = self._known.get(key)
        except Exception as error:
            foreign_errors.pass_on(error)
            self._asked.failed(error)
            return original(*args, **kwargs)
        asked = self._asked
        if answers is not None and answers.are_enough:
            asked.reached[0] += 1
            self.missed.note(original, args, kwargs, entered_ns)
            self._unanswered_ns = 0
            answers.turn = turn = answers.turn + 1
            asked.costs(time.perf_counter_ns() - entered_ns)
            return answers.given[turn % len(answers.given)]
        self.missed.forget()
        begun_ns = time.perf_counter_ns()
        answer = self._guard.call(original, args, kwargs)
        spent_ns = time.perf_counter_ns() - begun_ns
        self._unanswered_ns += spent_ns
        if answers is None:
            if len(self._known) == _SHAPES or self._unanswered_ns > _UNANSWERED_NS:
                self._tell_fewer_apart()
            answers = self._known[key] = _Answers()
        answers.add(answer, spent_ns)
        return answer

    def _tell_fewer_apart(self) -> None:
        if self._by_kind and len(self._known) == _SHAPES:
            self._asked.failed(RefusedError("no two of its calls are alike"))
        self._by_kind = True
        self._unanswered_ns = 0
        self._known.clear()


unseen(Memory.answer)
unseen(Memory.called)


def calls_of_files() -> int:
    """Reads and writes that this thread has made so far, of which each call of this makes one; 0 where the kernel does not count them."""
    try:
        file = os.open("/proc/thread-self/io", os.O_RDONLY | os.O_CLOEXEC)
        try:
            told = os.read(file, 1000)
        finally:
            os.close(file)
        calls = [int(line.split()[1]) for line in told.splitlines() if line.startswith(b"sysc")]
    except (OSError, ValueError):
        return 0
    return sum(calls)


def speaks_with_others() -> bool:
    """Tell whether this process has pipes or sockets, but for its standard streams."""
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink("/proc/self/fd/" + number)
        except OSError:
            continue  # That of the list itself is closed by now.
        if int(number) > 2 and target.startswith(("pipe:", "socket:")):
            return True
    return False


class _Answers:
    __slots__ = ("are_enough", "given", "spent_ns", "turn")

    def __init__(self) -> None:
        self.given: list[Any] = []
        self.spent_ns = 0
        self.turn = 0
        self.are_enough = False

    def add(self, answer: Any, spent_ns: int) -> None:
        self.given.append(answer)
        self.spent_ns += spent_ns
        self.are_enough = len(self.given) >= _ANSWERS or self.spent_ns >= _FILLING_NS


def _identity(function: Any, *, by_kind: bool) -> Any:
    if type(function) is not MethodType:
        return id(function)
    return id(function.__func__) if by_kind else (id(function.__self__), id(function.__func__))


def shapes_of(args: tuple[Any, ...], *, by_kind: bool = False) -> tuple[Any, ...]:
    """Return the same of the arguments of a call, the usual ones by the shortest way."""
    return tuple([shape_of(each, _DEEP, by_kind) for each in args])


def shape_of(value: Any, deep: int, by_kind: bool = False) -> Any:
    """Return what of an input shapes an answer: types, shapes and numbers of parts, never contents.

    ``by_kind``: of texts and objects the type alone.
    """
    kind = type(value)
    if kind is float or kind is int:
        return kind
    if kind is list and value and type(value[0]) is float:
        return kind, len(value)
    shape = getattr(value, "shape", None) if kind not in _SHAPED else None
    if shape is not None and not isinstance(value, type):
        # Its text would take 2 µs: of a table of numpy's numbers more than what is answered.
        dtype = getattr(value, "dtype", None)
        return (kind, tuple(shape), dtype) if shape else kind
    if kind in (bool, str, bytes, type(None)):
        return (kind, value) if kind is bool or not by_kind else kind
    if kind in (tuple, list) and deep:
        return kind, len(value), shape_of(value[0], deep - 1, by_kind) if value else None
    if kind is dict and deep:
        items = list(value)[:16]
        return kind, tuple([(key, shape_of(value[key], deep - 1, by_kind)) for key in items])
    # Of an object its identity: the answers of two environments are two.
    return kind if kind is complex or by_kind else (kind, id(value))


def carries_graph(answer: Any) -> bool:
    """Tell whether gradients could be sent back through it, or what it holds in whatever kind of container: torch does that once only.

    Looks at the ``_PARTS`` nearest objects that it leads to. What it shares with the whole program (classes, modules, names
    of functions) leads everywhere, and is left out.
    """
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    if tensor is None:
        return False
    seen: dict[int, Any] = {}
    parts = [answer]
    while parts and len(seen) < _PARTS:
        further: list[Any] = []
        for part in parts:
            # By its type: what it says of itself is the program's code.
            kind = type(part)
            if id(part) in seen or issubclass(kind, _SHARED):
                continue
            seen[id(part)] = part
            if issubclass(kind, tensor) and part.grad_fn is not None:
                return True
            further.extend(
                part.__closure__ or () if kind is FunctionType else gc.get_referents(part)
            )
        parts = further[:_PARTS]
    return False
