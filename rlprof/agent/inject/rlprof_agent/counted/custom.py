"""The target of ``--steps-from MODULE:QUALNAME``: any function or method of the user's."""

from __future__ import annotations

# The C module, without stubs: ``functools`` would pull in collections.
from _functools import partial  # type: ignore[import-not-found]
from _weakref import ref
from types import BuiltinFunctionType, FunctionType

from .. import layout
from ..counters import counter, stated
from ..plain_reads import classes_of
from ..stand_ins import MethodStandIn
from . import call_marks
from .call_kinds import NOT_AT_ALL
from .class_methods import is_method, passing
from .outermost import NAMED, outermost

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType, ModuleType
    from typing import Any

    from .call_kinds import Kind, Told

_CO_GENERATORS = 32 | 512
"""Those of ``async def`` too: what they are called for comes later."""
_owners: dict[int, Any] = {}
"""Weak references by ``id`` to the classes that the target was found in, one for each time that its module was loaded: a class holds all names of its
module, and its function may share a mark with those of classes that are gone.
"""


def count_target(module: ModuleType, qualname: str) -> int:
    """Count the calls of ``qualname`` in ``module``; the state to tell the recorder.

    A class stands for its ``step``.
    """
    owner: Any = module
    *path, name = qualname.split(".")
    for part in path:
        owner = getattr(owner, part, None)
    if owner is not module and not isinstance(owner, type):
        owner = type(owner)  # All objects of its class, then.
    found = getattr(owner, name, None)
    if isinstance(found, type) and hasattr(found, "step"):
        owner, name, found = found, "step", found.step
    if found is None:
        return layout.CUSTOM_MISSING
    # An object that can be called (of a class, numba, functools) is more than its call.
    if isinstance(owner, type) and _as_defined(owner, name) is None:
        owner = type(owner)  # One of its metaclass, which the class itself would bind to nothing.
    original = _as_defined(owner, name)
    if original is None:
        return layout.CUSTOM_NOT_CALLABLE  # Made when it is asked for.
    is_possible = _is_method(found, original) if isinstance(owner, type) else _is_function(found)
    if not is_possible or isinstance(found, type):
        return layout.CUSTOM_NOT_CALLABLE
    return _count(owner, name, original)


def _is_function(found: Any) -> bool:
    return type(found) in (FunctionType, BuiltinFunctionType) and not _is_generator(found)


def _is_method(found: Any, original: Any) -> bool:
    """Tell whether it is called as often as it is looked up: what ``functools`` binds may be looked up once, and called for ever."""
    is_of_functools = getattr(type(original), "__module__", "") == "functools"
    return callable(found) and not is_of_functools and not _is_generator(found)


def _is_generator(found: Any) -> bool:
    """Tell whether what it is called for comes later."""
    return bool(getattr(getattr(found, "__code__", None), "co_flags", 0) & _CO_GENERATORS)


def _as_defined(owner: Any, name: str) -> Any:
    """The attribute as it stands in the module or class, not as bound by access; None where it stands in none."""
    if not isinstance(owner, type):
        return getattr(owner, name)
    return next((each.__dict__[name] for each in owner.__mro__ if name in each.__dict__), None)


def _count(owner: Any, name: str, original: Any) -> int:
    steps = counter(NAMED, _num_envs)
    is_bound = isinstance(original, (staticmethod, classmethod))
    function = original.__func__ if is_bound else original
    kind = outermost(steps)
    if isinstance(owner, type) and not is_bound:
        # Its class may have it from another one, which others have it from, too.
        number = id(owner)
        _owners[number] = ref(owner, partial(_owners.pop, number))
        kind = _of_owners(kind)
    if call_marks.count(function, steps, kind):
        return layout.CUSTOM_COUNTED

    def count(stepped: Any) -> None:
        steps.add(steps.size_of(stepped))

    if isinstance(owner, type) and not is_bound and not is_method(original):
        # What a decorator made of it is bound in a way of its own.
        ours: Any = MethodStandIn(original, count)
    else:
        ours = passing(function)
        if not call_marks.count(ours, steps, kind):
            return layout.CUSTOM_NOT_CALLABLE
        ours = type(original)(ours) if is_bound else ours
    try:
        setattr(owner, name, ours)
    except (TypeError, AttributeError):
        return layout.CUSTOM_READ_ONLY
    return layout.CUSTOM_COUNTED


def _of_owners(kind: Kind) -> Kind:
    """The same, of calls with an object of one of them."""

    def of_owners(frame: FrameType, stepped: Any) -> Told:
        is_one = any(id(each) in _owners for each in classes_of(type(stepped)))
        return kind(frame, stepped) if is_one else NOT_AT_ALL

    return of_owners


def _num_envs(owner: Any) -> int:
    number = stated(owner, "num_envs")
    return number if type(number) is int else 1
