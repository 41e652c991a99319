"""Functions of ours that look like those of the program's in whose places they stand."""

from __future__ import annotations

import sys
from _weakref import ref
from types import FunctionType, WrapperDescriptorType

from ..layout import COUNTED_FILE
from ..plain_reads import in_classes

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any, Optional

_unsigned: set[Any] = set()
"""Weak references to wrappers without a signature of their own."""

_CO_VARARGS, _CO_VARKEYWORDS = 4, 8
_OF_BOTH = (
    "__module__",
    "__name__",
    "__qualname__",
    "__doc__",
    "__annotations__",
    "__type_params__",
)
_TELL_OF_IT = ("__name__", "__qualname__", "__module__", "__doc__")
"""Names that a program may set, and that are not among a function's own attributes."""
_OF_OURS = ("__wrapped__", "__signature__", "_torchdynamo_inline")
"""Attributes that those have which stand around another."""


OF_ERRORS = BaseException, BaseException.with_traceback
"""All errors, and how one is given another traceback: to be closed over where globals are the program's, which may have these names for something
else, or run code without them.
"""


def in_place_of(original: Any, wrapper: Any) -> Any:
    """``wrapper``, fit to stand in a class where ``original`` stood. One without ``*args`` is for a method for which
    :func:`takes_self_and_one_more` holds.
    """
    if not wrapper.__code__.co_flags & _CO_VARARGS:
        take_names(wrapper, original)
    # They need no names themselves. Compilers (torch.jit, numba) look there for those that they read in the source.
    wrapper = dressed(wrapper, original, getattr(original, "__globals__", None))
    if wrapper.__dict__ is not getattr(original, "__dict__", None):
        # A graph of torch.compile's has no place for counting, and with ``fullgraph=True`` it would be an error.
        wrapper._torchdynamo_inline = original
    return wrapper


def put_in_class(owner: type, name: str, function: Any) -> None:
    """Set an attribute of a class, without asking a metaclass of the program's. Raises TypeError for a class whose attributes are fixed."""
    try:
        type.__setattr__(owner, name, function)
    except TypeError:
        # Of a metaclass in C with a way of its own, as pybind11's, Python lets no other be taken.
        if type(in_classes(type(owner), "__setattr__")) is not WrapperDescriptorType:
            raise
        setattr(owner, name, function)


def given_back(function: Any) -> Any:
    """Return what it stands for, to stand in its place again, with the attributes that the program has set since."""
    original = original_of(function)
    for name in _TELL_OF_IT:
        wanted = getattr(function, name, None)
        if getattr(original, name, None) is not wanted and type(original) is FunctionType:
            setattr(original, name, wanted)
    own = getattr(original, "__dict__", None)
    if own is not None and own is not function.__dict__:
        own.update((name, each) for name, each in function.__dict__.items() if name not in _OF_OURS)
        if own:
            # One and the same from here on: the program may hold this function, and set attributes by the class.
            function.__dict__ = own
    return original


def take_names(wrapper: Any, original: Any) -> None:
    """Name the two arguments of ``wrapper`` as those of ``original``, so that they can be given by name, too. Not ``*args``: packing and
    unpacking them costs more than all the rest.
    """
    names = original.__code__.co_varnames[:2] + wrapper.__code__.co_varnames[2:]
    wrapper.__code__ = wrapper.__code__.replace(co_varnames=names)
    wrapper.__defaults__ = original.__defaults__


def _take_names_of_any(wrapper: Any, original: Any) -> None:
    """Name ``*args`` and ``**kwargs`` of ``wrapper`` as ``original`` does, where both have both."""
    ours, theirs = wrapper.__code__, getattr(original, "__code__", None)
    both = _CO_VARARGS | _CO_VARKEYWORDS
    if theirs is not None and ours.co_flags & theirs.co_flags & both == both:
        first = theirs.co_argcount + theirs.co_kwonlyargcount
        names = theirs.co_varnames[first : first + 2] + ours.co_varnames[2:]
        wrapper.__code__ = ours.replace(co_varnames=names)


def of_counting(code: CodeType, name: str = "") -> CodeType:
    """``code``, so that warnings with a ``stacklevel`` go past it and stacks are told without it; Python 3.9 tells ``name`` of a call with
    wrong arguments.
    """
    return code.replace(co_filename=COUNTED_FILE, co_name=name or code.co_name)


def takes_self_and_one_more(function: Any) -> bool:
    """Tell whether it is a function of Python's that takes no less and no more. One that Cython has compiled has code, too, and tells of wrong
    arguments in words of its own.
    """
    if type(function) is not FunctionType:
        return False
    code = function.__code__
    return (
        code.co_argcount == 2
        and not code.co_kwonlyargcount
        and not code.co_posonlyargcount
        and not code.co_flags & (_CO_VARARGS | _CO_VARKEYWORDS)
    )


def is_counting(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == COUNTED_FILE


def original_of(function: Any) -> Any:
    """Return what it stands for."""
    return closed_over(function, "original")


def closed_over(function: Any, name: str) -> Any:
    """Return what a function for which :func:`is_counting` holds refers to by ``name``; None if it does not."""
    cell = cell_of(function, name)
    return None if cell is None else cell.cell_contents


def cell_of(function: Any, name: str) -> Any:
    """Return the cell that holds it; None if there is none."""
    names = function.__code__.co_freevars
    return function.__closure__[names.index(name)] if name in names else None


def dressed(wrapper: Any, original: Any, names: Optional[dict[str, Any]] = None) -> Any:
    """``wrapper``, looking like ``original``; one that takes its own frame off errors, as those here do.

    ``names`` are its globals, unless they are to stay its own.
    """
    name = getattr(original, "__name__", "")
    wrapper = FunctionType(
        of_counting(wrapper.__code__, name if type(name) is str else ""),
        wrapper.__globals__ if names is None else names,
        wrapper.__name__,
        wrapper.__defaults__,
        _closure_of(wrapper, original),
    )
    for name in _OF_BOTH:
        if hasattr(original, name):
            setattr(wrapper, name, getattr(original, name))
    own = getattr(original, "__dict__", None)
    if own or (own is not None and _knows_itself(original)):
        # One and the same: a decorator, or the function itself, goes on to write there.
        wrapper.__dict__ = own
    else:
        wrapper.__wrapped__ = original
    wrapper.__kwdefaults__ = getattr(original, "__kwdefaults__", None)
    if own and "__wrapped__" in own:
        # A decorator's, of which ``inspect.signature`` tells what it wraps, and ``inspect.getfullargspec`` what it takes itself.
        _take_names_of_any(wrapper, original)
    elif wrapper.__code__.co_flags & _CO_VARARGS:
        inspect = sys.modules.get("inspect")
        if inspect is not None:
            _sign(wrapper, inspect)
        else:
            # Not imported in the midst of the program's work.
            _unsigned.add(ref(wrapper, _unsigned.discard))
    return wrapper


def sign_all(inspect: ModuleType) -> None:
    """Give those a signature that stood in a class or module before the program imported ``inspect``."""
    for each in list(_unsigned):
        wrapper = each()
        if wrapper is not None:
            _sign(wrapper, inspect)
    _unsigned.clear()


def _sign(wrapper: Any, inspect: Any) -> None:
    # ``inspect.getfullargspec`` does not follow ``__wrapped__``, and where attributes are shared there is none.
    try:
        wrapper.__signature__ = inspect.signature(original_of(wrapper))
    except (TypeError, ValueError):
        pass  # One of C code that does not tell.


def _knows_itself(function: Any) -> bool:
    """Tell whether a function has a name for itself, as that of a decorator which counts its calls has."""
    for cell in getattr(function, "__closure__", None) or ():
        try:
            if cell.cell_contents is function:
                return True
        except ValueError:
            pass  # Not filled yet.
    names = getattr(function, "__globals__", None)
    return type(names) is dict and names.get(function.__name__) is function


def _closure_of(wrapper: Any, original: Any) -> tuple[Any, ...]:
    """That of ``wrapper``, with the cell by which ``super()`` in ``original`` knows its class.

    attrs, and dataclasses with slots, make a class anew and then mend that cell, which they look for in the closures
    of what stands in the class. The wrappers here have a place for it, under the same name.
    """
    name, ours = "__class__", wrapper.__code__.co_freevars
    given = getattr(getattr(original, "__code__", None), "co_freevars", ())
    cells = list(wrapper.__closure__)
    if name in given and name in ours:
        cells[ours.index(name)] = original.__closure__[given.index(name)]
    return tuple(cells)
