"""Short numbers that are the same for the same contents, to tell whether a value is what it was at an earlier look.

One leaves the process in place of the contents, to be compared; the recorder does not keep it. Nothing of the program is called, and no
memory is read but that of Python and numpy: of a tensor nothing is told, since another thread may free its memory meanwhile, what is
shared with numpy changes uncounted, and a weak reference would keep torch from swapping it.
"""

from __future__ import annotations

from marshal import dumps

from .plain_reads import (
    INDEXED,
    ModuleType,
    classes_of,
    is_made_by_a_program,
    is_metaclass,
    loaded,
    members_of,
)

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Optional

_MOST_READ = 8_192
"""Elements of an array, evenly spread so that what a buffer gets between two looks is met: 5 to 85 µs (``benchmarks/value_prints.py``)."""
_MANY_BYTES, _FEW_READ = 1 << 26, 1_024
"""Arrays of more are read at fewer places, each of which may be a page that nobody has touched."""
_WIDEST = 64
"""Bytes of one element: a text in an array takes as much as the longest."""
_MOST_LEAVES = 10_000
"""Numbers and texts in a container, and of its arrays one for each 16 elements: up to 4.5 ms. One with more is not told, for a change
might be anywhere.
"""
_LETTERS, _EACH_ARRAY = 256, 5
"""Letters of a text in a container that count as one leaf, and what each array in it counts for, besides its elements."""
_MOST_DEPTH = 4

_NUMBERS = frozenset(map(id, (int, bool, float, complex, type(None), type(Ellipsis))))
"""Types whose values ``marshal`` writes in time that grows with their length alone. Their hashes will not do: -1 and -2 have the same, each NaN its own."""
_WITHOUT_REFERENCES = 2
"""The version of its format in which the same contents are the same bytes."""
_TEXTS = frozenset(map(id, (str, bytes)))
_SETS = frozenset(map(id, (set, frozenset)))
_KINDS = frozenset("biufcmMSU")
"""Kinds of numpy's element types: those without objects."""


def print_of(value: Any) -> Optional[int]:
    """The number; None for what nothing tells of."""
    return _print_of(value, 0, [_MOST_LEAVES])


def _print_of(value: Any, depth: int, left: list[int]) -> Optional[int]:
    """``depth``: containers around the value. ``left``: leaves that may be read."""
    kind = type(value)
    if id(kind) in _NUMBERS:
        return hash(dumps(value, _WITHOUT_REFERENCES))
    if kind is range:
        return hash((id(kind), dumps((value.start, value.stop, value.step), _WITHOUT_REFERENCES)))
    if id(kind) in _TEXTS:
        read = value if len(value) <= _MOST_READ else value[:: 1 + len(value) // _MOST_READ]
        left[0] -= len(value) // _LETTERS if depth else 0
        return hash((id(kind), len(value), read))
    if kind is ModuleType or is_metaclass(kind):
        return id(value)
    if depth < _MOST_DEPTH:
        if id(kind) in INDEXED:
            return _of_parts(kind, value, depth, left)
        if id(kind) in _SETS and len(value) <= left[0]:
            return _of_parts(kind, tuple(value), depth, left)
        if kind is dict and len(value) <= left[0]:
            return _of_parts(kind, (*value, *value.values()), depth, left)
    return _of_array(value, kind, left)


def _of_parts(kind: type, parts: Any, depth: int, left: list[int]) -> Optional[int]:
    left[0] -= len(parts)
    if left[0] < 0:
        return None
    if _NUMBERS.issuperset(map(id, map(type, parts))):
        return hash((id(kind), dumps(parts, _WITHOUT_REFERENCES)))
    prints: list[Optional[int]] = [id(kind)]
    for part in parts:
        prints.append(_print_of(part, depth + 1, left))
        if prints[-1] is None or left[0] < 0:
            return None
    return hash(tuple(prints))


def _of_array(value: Any, kind: type, left: list[int]) -> Optional[int]:
    numpy = loaded("numpy")
    if numpy is None:
        return None
    known = members_of(numpy)
    if kind is not known.get("ndarray"):
        number = known.get("number")
        is_number = any(each is number for each in classes_of(kind))
        is_numpys = is_number and not is_made_by_a_program(kind)
        left[0] -= _EACH_ARRAY
        return hash((id(kind), value.tobytes())) if is_numpys else None
    if value.dtype.kind not in _KINDS or value.itemsize > _WIDEST or not _has_own_memory(value):
        return None
    is_within = left[0] < _MOST_LEAVES
    left[0] -= _EACH_ARRAY + value.size // 16
    if is_within and left[0] < 0:
        return None
    return hash((value.shape, value.dtype.str, _read(value).tobytes()))


def _read(array: Any) -> Any:
    """All of it, or elements at a stride that has no divisor in common with a row, so that each column is met."""
    most = _MOST_READ if array.nbytes <= _MANY_BYTES else _FEW_READ
    if array.size <= most:
        return array
    stride = 1 + array.size // most
    while any(_divisor(stride, length) > 1 for length in array.shape[1:]):
        stride += 1
    return array.flat[::stride]


def _divisor(one: int, other: int) -> int:
    while other:
        one, other = other, one % other
    return one


def _has_own_memory(array: Any) -> bool:
    """Tell whether numpy has made room for the elements: mapped memory may be missing, and a read of shared memory takes some."""
    owner = array
    while type(owner.base) is type(array):
        owner = owner.base
    return bool(owner.flags.owndata)
