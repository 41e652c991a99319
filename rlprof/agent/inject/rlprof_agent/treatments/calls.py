"""Calls of a function that are left out, answered from memory, made without gradients, or made of another function."""

from __future__ import annotations

from types import FunctionType

from .. import foreign_errors
from . import RefusedError, library
from .functions import SwappedCode, calling, named, own_copy, unseen, written_at

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable

    from . import AskedPart

_ANSWERS = 32
"""Answers that are kept for each shape of input, and given in turn: an environment may not say for ever that its episode goes on."""
_SHAPES = 64
_DEEP = 3


class Calls:
    """A function, by ``file``, ``line`` and ``name``, or by ``module`` and ``qualname``, of whose calls ``what`` becomes."""

    def __init__(self, asked: AskedPart) -> None:
        part = asked.part
        make = _MADE[part["what"]]
        functions = (
            [named(part["module"], part["qualname"])]
            if "module" in part
            else written_at(
                part["file"], part["line"], part["name"], within=bool(part.get("within"))
            )
        )
        code = SwappedCode(
            functions,
            lambda function: calling(function, unseen(make(own_copy(function), asked))),
        )
        self.put_on, self.take_off = code.put_on, code.take_off


def _every(original: Any, asked: AskedPart) -> Any:
    """Make every n-th call; the others get what the last one gave."""
    every = asked.part["every"]
    left, answer = 0, None

    def called(*args: Any, **kwargs: Any) -> Any:
        nonlocal left, answer
        asked.reached[0] += 1
        left -= 1
        if left <= 0:
            answer = original(*args, **kwargs)
            left = every
        return answer

    return called


def _from_memory(original: Any, asked: AskedPart) -> Any:
    """Answer by what an input of the same shape got before."""
    known: dict[Any, list[Any]] = {}
    turns: dict[Any, int] = {}

    def called(*args: Any, **kwargs: Any) -> Any:
        asked.reached[0] += 1
        try:
            key = (shape_of(args, _DEEP), shape_of(kwargs, _DEEP))
            answers = known.get(key)
        except Exception as error:
            foreign_errors.pass_on(error)
            asked.failed(error)
            return original(*args, **kwargs)
        if answers is not None and len(answers) == _ANSWERS:
            turns[key] += 1
            return answers[turns[key] % _ANSWERS]
        answer = original(*args, **kwargs)
        if answers is not None:
            answers.append(answer)
        elif len(known) < _SHAPES:
            known[key], turns[key] = [answer], 0
        return answer

    return called


def shape_of(value: Any, deep: int) -> Any:
    """Return what of an input shapes an answer: types, shapes and numbers of parts, never contents."""
    kind = type(value)
    shape = getattr(value, "shape", None)
    if shape is not None and not isinstance(value, type):
        return kind, tuple(shape), str(getattr(value, "dtype", ""))
    if kind in (bool, str, bytes, type(None)):
        return kind, value
    if kind in (tuple, list) and deep:
        parts = tuple(shape_of(each, deep - 1) for each in value[:4])
        return kind, len(value), parts
    if kind is dict and deep:
        return kind, tuple((key, shape_of(value[key], deep - 1)) for key in list(value)[:16])
    # Of an object its identity: the answers of two environments are two.
    return (kind,) if kind in (int, float, complex) else (kind, id(value))


def _without_gradients(original: Any, asked: AskedPart) -> Any:
    no_grad = library("torch").no_grad

    def called(*args: Any, **kwargs: Any) -> Any:
        asked.reached[0] += 1
        with no_grad():
            return original(*args, **kwargs)

    return called


def _replaced(original: Any, asked: AskedPart) -> Any:
    """Call a function of a file of the user's in its place."""
    part = asked.part
    names = {"__name__": "rlprof_replacement", "__file__": part["with_file"], "original": original}
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
            foreign_errors.pass_on(error)
            asked.failed(error)
        return original(*args, **kwargs)

    return called


_MADE: dict[str, Callable[[FunctionType, AskedPart], Any]] = {
    "every": _every,
    "from-memory": _from_memory,
    "without-gradients": _without_gradients,
    "replaced": _replaced,
}
