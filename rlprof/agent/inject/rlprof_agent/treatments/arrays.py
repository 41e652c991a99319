"""Calls of numpy and torch that put arrays together, made in a cheaper way."""

from __future__ import annotations

import weakref

from .. import foreign_errors
from . import library

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

    from . import AskedPart

_NOT_TAKEN = "gLQ"
"""Types of numbers, long doubles and large unsigned ones, of which torch takes lists otherwise than arrays."""

_ROOMS = 64
"""Arrays that grow at the same time."""


def arrays_first(asked: AskedPart) -> Any:
    """Make one array of a list of arrays before torch makes a tensor of it."""
    numpy, torch = library("numpy"), library("torch")
    # As they are now: in the place of one of them may be ours.
    makes = torch.tensor, torch.as_tensor

    def made(function: Any, *args: Any, **kwargs: Any) -> Any:
        # Others may have methods of the same name.
        if function in makes:
            asked.reached[0] += 1
            if len(args) == 1:
                try:
                    array, kind = _one_array(args[0], kwargs.get("dtype"), numpy, torch)
                    args = (array,)
                    if kind is not None:
                        kwargs["dtype"] = kind
                except Exception as error:
                    foreign_errors.pass_on(error)
                    asked.failed(error)
        return function(*args, **kwargs)

    return made


def _one_array(values: Any, wanted: Any, numpy: Any, torch: Any) -> tuple[Any, Any]:
    """Return the list ``values`` as one array, and the type of tensor that is ``wanted`` of it; as they are where that would become another."""
    if type(values) not in (list, tuple) or not values:
        return values, wanted
    doubles = torch.float32, torch.float64
    if all(type(each) is float for each in values):
        # As torch does for a list of Python's floats.
        kind = wanted or torch.get_default_dtype()
        return (numpy.array(values), kind) if kind in doubles else (values, wanted)
    if not all(_is_array(each, numpy) for each in values):
        return values, wanted
    shape, dtype = values[0].shape, values[0].dtype
    if any(each.dtype != dtype or each.shape != shape for each in values):
        return values, wanted
    # Each number of a list becomes a double on the way to a float: these are the same then.
    is_double = dtype.kind == "f" or (dtype.kind in "iub" and dtype.itemsize <= 4)
    is_same = wanted is None or (wanted in doubles and is_double)
    if is_same and dtype.kind in "fiub" and dtype.isnative and dtype.char not in _NOT_TAKEN:
        return numpy.stack(values), wanted
    return values, wanted


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
