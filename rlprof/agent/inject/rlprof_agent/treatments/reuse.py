"""Values that a program may be given again after it has used them: what is used up or closed is not among them."""

from __future__ import annotations

from .. import foreign_errors
from ..real import sys, time
from . import RefusedError
from .memories import Memory

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

    from . import AskedPart

_NUMBERS_AND_TEXTS = frozenset((int, float, complex, bool, str, bytes, type(None)))
_ENDS_BY = ("close", "__next__", "acquire", "recv", "terminate")
"""Methods of files, iterators, locks, sockets, pipes and processes."""
_MOST = 10_000
"""Containers and values in a value that is looked through."""
_DEEP = 8
"""Containers in one another of which there are new ones; in a circle there is no end of them."""


def what_ends(attributes: dict[str, Any]) -> str:
    """The name of an attribute that the program may close or use up; empty where there is none."""
    for name, value in attributes.items():
        # By its class: an instance may answer to any name.
        if ends(value):
            return name
    return ""


def ends(value: Any) -> bool:
    kind = type(value)
    return not issubclass(kind, type) and any(hasattr(kind, name) for name in _ENDS_BY)


def fresh(value: Any, deep: int = _DEEP) -> Any:
    """``value`` in new containers, so that what is taken out of them is there the next time."""
    kind = type(value)
    if not deep:
        return value
    if kind is list:
        return [fresh(each, deep - 1) for each in value]
    if kind is tuple:
        return tuple([fresh(each, deep - 1) for each in value])
    if kind is dict or _is_ordered(kind):
        return kind([(key, fresh(each, deep - 1)) for key, each in value.items()])
    if kind is set or _is_deque(kind):
        return value.copy()
    return value


def is_plain(value: Any) -> bool:
    """Tell whether ``value`` is made of numbers, texts, arrays, tensors and networks, and containers of such: nothing else can be used up in it."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    plain: list[Any] = [numpy.generic] if numpy else []
    plain += [torch.Tensor, torch.nn.Module] if torch else []
    left, seen = [(value, _DEEP)], 0
    while left and seen < _MOST:
        each, deep = left.pop()
        seen += 1
        kind = type(each)
        if kind in _NUMBERS_AND_TEXTS or isinstance(each, tuple(plain)):
            continue
        if numpy and kind is numpy.ndarray:
            if each.dtype.hasobject:
                return False
        elif deep and (kind is dict or _is_ordered(kind)):
            left += [(part, deep - 1) for part in (*each, *each.values())]
        elif deep and (kind in (list, tuple, set) or _is_deque(kind)):
            left += [(part, deep - 1) for part in each]
        else:
            return False
    return not left


def _is_ordered(kind: Any) -> bool:
    return kind is getattr(sys.modules.get("collections"), "OrderedDict", None)


def _is_deque(kind: Any) -> bool:
    return kind is getattr(sys.modules.get("collections"), "deque", None)


def copies(asked: AskedPart) -> Any:
    """Answer a call by copies that were made before, in new containers each time."""
    memory = Memory(asked)
    checked: dict[int, Any] = {}

    def answered(function: Any, *args: Any, **kwargs: Any) -> Any:
        made = checked.get(id(function))
        if made is None:
            made = checked[id(function)] = _expecting(function, is_plain, _USED_UP, asked)
        answer = memory.answer(made, args, kwargs)
        begun_ns = time.perf_counter_ns()
        try:
            return fresh(answer)
        except Exception as error:
            foreign_errors.pass_on(error)
            asked.failed(error)
            return answer
        finally:
            asked.cost_ns[0] += time.perf_counter_ns() - begun_ns

    return answered


_USED_UP = "a copy holds what the program may use up"
_CLOSED = "what it makes can be closed or used up"


def objects(original: Any, asked: AskedPart) -> Any:
    """Answer by objects that were made before, in turn."""
    memory = Memory(asked)
    made = _expecting(original, _can_be_used_again, _CLOSED, asked)

    def called(*args: Any, **kwargs: Any) -> Any:
        return memory.answer(made, args, kwargs)

    return called


def _can_be_used_again(value: Any) -> bool:
    return not ends(value) and not what_ends(getattr(value, "__dict__", None) or {})


def _expecting(original: Any, is_wanted: Any, why: str, asked: AskedPart) -> Any:
    """``original``, at the first answer of which that is not as is wanted the treatment is refused."""

    def made(*args: Any, **kwargs: Any) -> Any:
        answer = original(*args, **kwargs)
        try:
            if not is_wanted(answer):
                asked.failed(RefusedError(why))
        except Exception as error:
            foreign_errors.pass_on(error)
            asked.failed(error)
        return answer

    return made
