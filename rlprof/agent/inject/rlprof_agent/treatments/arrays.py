"""Calls of numpy and torch that put arrays together, made in a cheaper way."""

from __future__ import annotations

import weakref

from .. import foreign_errors
from ..real import time
from . import library

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

    from . import AskedPart

_NOT_TAKEN = "gLQe"
"""Types of numbers, long doubles, large unsigned ones and those of 16 bits, of which torch takes lists otherwise than arrays: of the last it keeps no
more of what is no number than that it is none."""
_EXACT = 2**53
"""Largest whole number up to which a double has all."""
_DEEP = 8
_LISTS = frozenset((list, tuple))
_NUMBERS = frozenset((float, int, bool))
_MOST_PASSED_ON = 20
_OF_OTHERS = "most of what it is given is no list of arrays or numbers of one kind"

_ROOMS = 64
"""Arrays that grow at the same time."""


def arrays_first(asked: AskedPart) -> Any:
    """Make one array of a list of arrays or numbers before torch makes a tensor of it."""
    numpy, torch = library("numpy"), library("torch")
    # As they are now: in the place of one of them may be ours.
    tensor = torch.tensor
    makes = tensor, torch.as_tensor

    def made(function: Any, *args: Any, **kwargs: Any) -> Any:
        # Others may have methods of the same name.
        if function not in makes:
            return function(*args, **kwargs)
        # That of this thread: waits for a core are left out of the slot already.
        begun_ns = looked_ns = time.thread_time_ns()
        try:
            values, wanted = args[0] if len(args) == 1 else None, kwargs.get("dtype")
            form = _form(values, _DEEP, numpy)
            looked_ns = time.thread_time_ns()
            one = form and _one_array(values, form[0], wanted, numpy, torch)
        except Exception as error:
            foreign_errors.pass_on(error)
            asked.failed(error)
            one = None
        if one is None:
            asked.passes_on(_MOST_PASSED_ON, _OF_OTHERS)
            return function(*args, **kwargs)
        asked.treats()
        # Who writes the fix knows what is in the list.
        asked.cost_ns[0] += looked_ns - begun_ns
        array, kind = one
        if kind is not None:
            kwargs["dtype"] = kind
        # Not as_tensor: of a list it makes memory of torch's own, which can grow.
        return tensor(array, **kwargs)

    return made


def _form(values: Any, deep: int, numpy: Any) -> Any:
    """Return the type that all in a list, or in its lists, have, and the shape of it all; None where it is of no one type or shape.

    Of arrays, which lie in one list, the type of numbers is what counts.
    """
    if type(values) not in _LISTS or not values:
        return None
    kinds = {*map(type, values)}
    if kinds <= _LISTS:
        forms: set[Any] = {_form(each, deep - 1, numpy) for each in values} if deep else set()
        form = forms.pop() if len(forms) == 1 else None
        if form is None or type(form[0]) is not type:
            return None
        return form[0], (len(values), *form[1])
    if len(kinds) == 1 and kinds <= _NUMBERS:
        return kinds.pop(), (len(values),)
    if all(_is_array(each, numpy) for each in values):
        forms = {(each.dtype, each.shape) for each in values}
        return forms.pop() if len(forms) == 1 else None
    return None


def _one_array(values: Any, kind: Any, wanted: Any, numpy: Any, torch: Any) -> Any:
    """Return the list ``values`` of arrays or numbers of one ``kind`` as one array, and the type of tensor that is ``wanted`` of it.

    None where that would become another.
    """
    if type(kind) is type:
        return _one_of_numbers(values, kind, wanted, numpy, torch)
    # Each number of a list becomes a double on the way to a float: these are the same then.
    is_double = kind.kind == "f" or (kind.kind in "iub" and kind.itemsize <= 4)
    is_same = wanted is None or (wanted in (torch.float32, torch.float64) and is_double)
    if not is_same or kind.kind not in "fiub" or not kind.isnative or kind.char in _NOT_TAKEN:
        return None
    # Row by row in memory, as torch has it. numpy.stack would keep the order that views have.
    array = numpy.array(values)
    # Where there are no numbers, torch has no order of its own.
    return (array, wanted) if array.size else None


def _one_of_numbers(values: Any, kind: Any, wanted: Any, numpy: Any, torch: Any) -> Any:
    """The same of Python's own numbers of one kind, in lists of lists of one length, or in one list."""
    doubles = torch.float32, torch.float64
    if kind is float:
        # As torch does for them.
        wanted = wanted or torch.get_default_dtype()
        return (numpy.array(values), wanted) if wanted in doubles else None
    own = torch.bool if kind is bool else torch.int64
    if wanted not in (None, own) and not (kind is int and wanted in doubles):
        return None
    array = numpy.array(values)
    if array.dtype.kind != ("b" if kind is bool else "i") or array.dtype.itemsize not in (1, 8):
        return None  # Too large for a whole number of 64 bits.
    if wanted in doubles and not -_EXACT <= array.min() <= array.max() <= _EXACT:
        return None
    return array, wanted


def _is_array(value: Any, numpy: Any) -> bool:
    # An array without dimensions is an error to torch.
    return (type(value) is numpy.ndarray and value.ndim > 0) or isinstance(value, numpy.generic)


def spare_room(asked: AskedPart) -> Any:
    """Put an array and what comes behind it into room that was made for more, as a list does."""
    numpy = library("numpy")
    by_row = {numpy.concatenate: 0, numpy.vstack: 2, numpy.append: 1}
    rooms: dict[int, Any] = {}

    def grown(function: Any, *args: Any, **kwargs: Any) -> Any:
        asked.reached[0] += 1
        try:
            arrays = _parts(function, args, kwargs)
            whole = None if arrays is None else _grown(arrays, rooms, numpy)
        except Exception as error:
            foreign_errors.pass_on(error)
            asked.failed(error)
            whole = None
        return function(*args, **kwargs) if whole is None else whole

    def _parts(function: Any, args: Any, kwargs: Any) -> Any:
        """Return two arrays of which the second goes behind the first, row by row; None for all else."""
        fewest = by_row.get(function)
        if fewest is None or {*kwargs} - {"axis"} or kwargs.get("axis", 0) != 0:
            return None
        arrays: Any = args if function is numpy.append else args[0] if len(args) == 1 else ()
        if len(arrays) != 2 or any(type(each) is not numpy.ndarray for each in arrays):
            return None
        first, second = arrays
        if first.dtype != second.dtype or first.ndim < fewest or first.ndim != second.ndim:
            return None
        if function is numpy.append and "axis" not in kwargs and first.ndim != 1:
            return None
        return arrays if first.shape[1:] == second.shape[1:] else None

    return grown


def _grown(arrays: Any, rooms: dict[int, Any], numpy: Any) -> Any:
    first, second = arrays
    rows, all_rows = len(first), len(first) + len(second)
    known = rooms.pop(id(first), None)
    # Not where somebody holds on to what there was before that array.
    room = known[1] if known is not None and known[0]() is first and known[2]() is None else None
    if room is None or len(room) < all_rows:
        room = numpy.empty((2 * all_rows + 16, *first.shape[1:]), first.dtype)
        room[:rows] = first
    room[rows:all_rows] = second
    whole = room[:all_rows]
    if len(rooms) >= _ROOMS:
        rooms.clear()
    rooms[id(whole)] = (weakref.ref(whole), room, weakref.ref(first))
    return whole
