"""Count the calls of a method in a class, in all its subclasses, and in those yet to be defined."""

from __future__ import annotations

import sys
from _weakref import ref
from types import FunctionType, MethodDescriptorType, WrapperDescriptorType

from .. import foreign_errors
from ..plain_reads import classes_of, is_metaclass, names_of, with_subclasses
from . import call_marks
from .dressing import OF_ERRORS, in_place_of, of_counting, put_in_class
from .marked_code import CO_GENERATORS
from .outermost import outermost

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Callable

    from ..counters import EventCounter

_HOOK = "__init_subclass__"
_PLAIN = (FunctionType, MethodDescriptorType, WrapperDescriptorType)
_bases: list[tuple[Any, _CountsIn]] = []
"""Weak references to those whose methods are counted, each with what counts in a class."""
_COMPILED = ("cython_function_or_method", "instancemethod", "nb_func", "nb_method")
"""Names of types of functions that Cython, pybind11 and nanobind make."""


def count_methods(base: type, names: Iterable[str], counter: EventCounter) -> None:
    """Count the methods ``names`` of ``base`` and of its subclasses in ``counter``.

    Each class's own definition counts, so that ``super().step()`` and calls by way of the class do as well; the outermost call alone counts.
    """
    kind = outermost(counter)

    def count_in(owner: type) -> None:
        there = names_of(owner)
        for name in names:
            found: Any = there.get(name)
            if is_method(found):
                _count_in(owner, name, found, counter, kind)

    for each in with_subclasses(base):
        count_in(each)
    counts_in = _CountsIn(count_in)
    _bases[:] = [known for known in _bases if known[0]() is not None]
    _bases.append((ref(base), counts_in))
    hook: Any = classmethod(_hook(base, names_of(base).get(_HOOK), counts_in))
    try:
        put_in_class(base, _HOOK, hook)
    except TypeError:
        pass  # A class of an extension module, whose attributes are fixed.


def _count_in(owner: type, name: str, found: Any, counter: EventCounter, kind: Any) -> None:
    if type(found) is FunctionType:
        call_marks.count(found, counter, kind)
        return
    # One of C code, which has no code of Python's: the one around it has.
    ours = passing(found)
    if call_marks.count(ours, counter, kind):
        try:
            put_in_class(owner, name, ours)
        except TypeError:
            pass  # As above.


def count_again(owner: type) -> None:
    """Count the methods of a class that was given others after it was made."""
    if not is_metaclass(type(owner)):
        return  # A metaclass of the program's has made something else.
    there = [(base(), counts_in) for base, counts_in in _bases]
    # In the order of the hooks: the last one to count a function does.
    for each in reversed(classes_of(owner)):
        for base, counts_in in there:
            if base is each:
                counts_in(owner)


def passing(original: Any) -> Any:
    """A function of Python's that calls ``original`` and looks like it."""
    failure, with_traceback = OF_ERRORS

    def passed(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise

    return in_place_of(original, passed)


def _hook(base: Any, original: Any, count_in: _CountsIn) -> Any:
    """The function of ``__init_subclass__`` for ``base``.

    It needs no names of this module, nor of a class of ours: a program may pickle its class by value, and load it where rlprof is not.
    """
    read, has, parent = type.__getattribute__, getattr, super
    failure, with_traceback = OF_ERRORS

    # The name is Python's own; it stands outside of a class here since it is set on one later.
    def __init_subclass__(cls: type[Any], /, **kwargs: Any) -> None:  # noqa: N807 - set on a class later
        try:
            if original is None:
                # Also in a class that somebody has made of what stands in ``base``. The last of them, for ``super`` leads from one to the next.
                holder = base
                for each in read(cls, "__mro__"):
                    there = read(each, "__dict__").get("__init_subclass__")
                    if has(there, "__func__", None) is __init_subclass__:
                        holder = each
                parent(holder, cls).__init_subclass__(**kwargs)
            else:
                original.__get__(None, cls)(**kwargs)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        count_in(cls)

    __init_subclass__ = FunctionType(
        of_counting(__init_subclass__.__code__),
        getattr(sys.modules.get(base.__module__), "__dict__", __init_subclass__.__globals__),
        closure=__init_subclass__.__closure__,
    )
    return __init_subclass__


class _CountsIn:
    """Counts in a class where the program, or a library, makes it or gives it methods. Pickled with a function that has it, it does nothing: a copy
    counts for nobody.
    """

    __slots__ = ("_act",)

    def __init__(self, act: Callable[[type], None]) -> None:
        self._act = act

    def __call__(self, owner: type) -> None:
        try:
            self._act(owner)
        except Exception as error:
            # A class that cannot be changed is not counted.
            foreign_errors.pass_on(error)

    def __reduce__(self) -> Any:
        return getattr, (callable, "__call__")


def _flags(function: Any) -> int:
    flags: int = getattr(getattr(function, "__code__", None), "co_flags", 0)
    return flags


def is_method(candidate: Any) -> bool:
    """Tell whether it is a function with a body. What a decorator made of one may do anything when it is bound, and
    have attributes of its own: it is left as it is, and what is around it counts.
    """
    kind = type(candidate)
    if not issubclass(kind, _PLAIN) and kind.__name__ not in _COMPILED:
        return False
    if _flags(candidate) & CO_GENERATORS:
        return False  # What it is called for comes later.
    return not getattr(candidate, "__isabstractmethod__", False)
