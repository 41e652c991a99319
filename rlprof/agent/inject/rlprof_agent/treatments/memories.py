"""Answers that were given before, by the shapes of what was asked."""

from __future__ import annotations

from .. import foreign_errors
from ..counters import counted
from ..real import time
from . import RefusedError
from .functions import unseen

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

    from . import AskedPart

_ANSWERS = 32
"""Answers that are kept for each shape of input, and given in turn: an environment may not say for ever that its episode goes on."""
_FILLING_NS = 50_000_000
"""Time that may be spent on the answers for one shape: with those of a slow function the slots would be over before all were there."""
_SHAPES = 64
_SHAPED = frozenset((bool, str, bytes, type(None), tuple, list, dict, complex))
_DEEP = 3


class Guard:
    """Takes a treatment away that would spoil what it measures, or the program."""

    def __init__(self, asked: AskedPart) -> None:
        self._asked = asked
        self._counter = asked.part.get("counter", "")

    def call(self, original: Any, args: Any, kwargs: Any) -> Any:
        """Call ``original`` for an answer that is to be given again."""
        before = counted(self._counter)
        answer = original(*args, **kwargs)
        if counted(self._counter) != before:
            self._asked.failed(RefusedError("the steps that are counted are made within it"))
        elif carries_graph(answer):
            self._asked.failed(RefusedError("gradients go back through its answer"))
        return answer


unseen(Guard.call)


class Memory:
    """The answers of a function, or of what is called at a place."""

    def __init__(self, asked: AskedPart) -> None:
        self._asked = asked
        self._guard = Guard(asked)
        self._known: dict[Any, _Answers] = {}

    def answer(self, about: Any, original: Any, args: Any, kwargs: Any) -> Any:
        """Answer ``original(*args, **kwargs)`` by what it gave before; ``about`` tells functions apart."""
        entered_ns = time.perf_counter_ns()
        try:
            key = about, shapes_of(args), shape_of(kwargs, _DEEP) if kwargs else None
            answers = self._known.get(key)
        except Exception as error:
            foreign_errors.pass_on(error)
            self._asked.failed(error)
            return original(*args, **kwargs)
        if answers is not None and answers.are_enough:
            answers.turn = turn = answers.turn + 1
            asked = self._asked
            asked.cost_ns[0] += asked.frame_ns + time.perf_counter_ns() - entered_ns
            return answers.given[turn % len(answers.given)]
        begun_ns = time.perf_counter_ns()
        answer = self._guard.call(original, args, kwargs)
        if answers is None and len(self._known) < _SHAPES:
            answers = self._known[key] = _Answers()
        if answers is not None:
            answers.add(answer, time.perf_counter_ns() - begun_ns)
        return answer


unseen(Memory.answer)


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


def shapes_of(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the same of the arguments of a call, the usual ones by the shortest way."""
    return tuple([shape_of(each, _DEEP) for each in args])


def shape_of(value: Any, deep: int) -> Any:
    """Return what of an input shapes an answer: types, shapes and numbers of parts, never contents."""
    kind = type(value)
    if kind is float or kind is int:
        return kind
    if kind is list and value and type(value[0]) is float:
        return kind, len(value)
    shape = getattr(value, "shape", None) if kind not in _SHAPED else None
    if shape is not None and not isinstance(value, type):
        return kind, tuple(shape), str(getattr(value, "dtype", ""))
    if kind in (bool, str, bytes, type(None)):
        return kind, value
    if kind in (tuple, list) and deep:
        return kind, len(value), shape_of(value[0], deep - 1) if value else None
    if kind is dict and deep:
        return kind, tuple((key, shape_of(value[key], deep - 1)) for key in list(value)[:16])
    # Of an object its identity: the answers of two environments are two.
    return kind if kind is complex else (kind, id(value))


def carries_graph(answer: Any, deep: int = _DEEP) -> bool:
    """Tell whether gradients could be sent back through it, which torch does once only."""
    if type(answer) in (int, float, bool, str, type(None)):
        return False
    if getattr(answer, "grad_fn", None) is not None:
        return True
    if not deep:
        return False
    if type(answer) in (tuple, list):
        parts: Any = answer[:16]
    elif type(answer) is dict:
        parts = list(answer.values())[:16]
    else:
        # As of torch's distributions.
        parts = list(getattr(answer, "__dict__", {}).values())[:16]
    return any(carries_graph(part, deep - 1) for part in parts)
