"""Short numbers that are the same for the same contents, to tell whether a value is what it was at an earlier look; and whether an array is
nearly all zeros, or has denormal numbers.

A number leaves the process in place of the contents, to be compared; the recorder does not keep it. Nothing of the program is called, no audit hook is
handed a value, and no memory is read but that of Python and numpy: of a tensor nothing is told, since another thread may free its memory
meanwhile, what is shared with numpy changes uncounted, and a weak reference would keep torch from swapping it.
"""

from __future__ import annotations

from struct import Struct

from .plain_reads import INDEXED, classes_of, is_made_by_a_program, loaded, members_of

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Optional

MOST_LEAVES = 10_000
"""Numbers and texts in containers that one look may read, up to 4.5 ms. Of what is larger nothing is told, for a change might be anywhere."""
_BYTES, _SCATTERED = 512, 64
"""Bytes of an array, a text or a long number that count as one leaf, and elements of an array that do not lie one after another."""
_PACKED_AT_ONCE = 4
"""Numbers of one type in a container that do."""
_EACH_ARRAY, _EACH_CONTAINER = 5, 4
"""Leaves that an array or a container counts for, besides what is in it."""
_WIDEST = 64
"""Bytes of one element: a text in an array takes as much as the longest."""
_ADDED_UP, _COLUMNS = 1 << 16, 512
"""Bytes of an array from which on it is added up, in a table of so many columns."""
_MOST_DEPTH = 4
_FEWEST_FLOATS, _MOST_FLOATS = 512, 1 << 18
"""Numbers of an array of which it is told whether nearly all are zeros, and whether some are denormal: of the most it takes 0.9 ms."""
_ZEROS = 0.95
"""Part of them that are, at least."""
_DENORMALS = 0.05
"""Part from which on a product of an array takes twice as long and more (a core multiplies a vector with one of them in some 150 cycles)."""
_LEAST_NORMAL = {"f4": 2.0**-126, "f8": 2.0**-1022}
"""The least float above zero that is not denormal (IEEE 754)."""

_NUMBERS = frozenset(map(id, (int, bool, float, complex, type(None), type(Ellipsis))))
"""Types whose hashes will not do: -1 and -2 have the same, each NaN its own."""
_PACKED = ((int, "q"), (float, "d"), (bool, "?"))
_FLOAT = Struct("d").pack
_TEXTS = frozenset(map(id, (str, bytes)))
_SETS = frozenset(map(id, (set, frozenset)))
_KINDS = frozenset("biufcmMSU")
"""Kinds of numpy's element types: those without objects."""


def print_of(value: Any, left: list[int]) -> Optional[int]:
    """The number; None for what nothing tells of, or is larger than the leaves that are ``left``."""
    return _print_of(value, 0, left)


def _print_of(value: Any, depth: int, left: list[int]) -> Optional[int]:
    """``depth``: containers around the value."""
    kind = type(value)
    if id(kind) in _NUMBERS:
        left[0] -= value.bit_length() // (8 * _BYTES) if kind is int else 0
        return hash((id(kind), _bytes_of(value))) if left[0] >= 0 else None
    if kind is range:
        return _of_parts(kind, (value.start, value.stop, value.step), depth, left)
    if id(kind) in _TEXTS:
        left[0] -= len(value) // _BYTES
        return hash((id(kind), len(value), value)) if left[0] >= 0 else None
    if depth < _MOST_DEPTH:
        if id(kind) in INDEXED:
            return _of_parts(kind, value, depth, left)
        if id(kind) in _SETS and len(value) <= left[0]:
            return _of_parts(kind, tuple(value), depth, left)
        if kind is dict and len(value) <= left[0]:
            return _of_parts(kind, (*value, *value.values()), depth, left)
    return _of_array(value, kind, left)


def _bytes_of(number: Any) -> bytes:
    """Bytes of its own, not by ``marshal``, which hands the number to audit hooks, nor by ``repr``, which takes long for long ones."""
    if type(number) is int:
        return number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)
    if type(number) is float:
        return _FLOAT(number)
    if type(number) is complex:
        return _FLOAT(number.real) + _FLOAT(number.imag)
    return b"%d" % number if type(number) is bool else b""


def _of_parts(kind: type, parts: Any, depth: int, left: list[int]) -> Optional[int]:
    left[0] -= _EACH_CONTAINER + len(parts) // _PACKED_AT_ONCE
    if left[0] < 0:
        return None
    parts = tuple(parts)  # Which no other thread changes.
    packed = _packed(parts)
    if packed:
        return hash((id(kind), packed))
    left[0] -= len(parts)
    prints: list[Optional[int]] = [id(kind)]
    for part in parts:
        if left[0] < 0:
            return None
        prints.append(_print_of(part, depth + 1, left))
        if prints[-1] is None:
            return None
    return hash(tuple(prints))


def _packed(parts: tuple[Any, ...]) -> bytes:
    """Return all ``parts`` with the type that they have; nothing where they are no numbers of one type, of 64 bits."""
    kind = type(parts[0]) if parts else tuple
    for packed, code in _PACKED:
        # One by one: to hash the types would ask their metaclasses, and audit hooks hear of each ``id``.
        if kind is packed and all(type(part) is kind for part in parts):
            is_short = kind is not int or max(map(int.bit_length, parts)) < 64
            return (
                code.encode() + Struct("%d" % len(parts) + code).pack(*parts) if is_short else b""
            )
    return b""


def _of_array(value: Any, kind: type, left: list[int]) -> Optional[int]:
    numpy = loaded("numpy")
    if numpy is None:
        return None
    known = members_of(numpy)
    left[0] -= _EACH_ARRAY
    if kind is not known.get("ndarray"):
        number = known.get("number")
        is_number = any(each is number for each in classes_of(kind))
        is_numpys = is_number and not is_made_by_a_program(kind)
        return hash((id(kind), value.tobytes())) if is_numpys else None
    if value.dtype.kind not in _KINDS or value.itemsize > _WIDEST or not _has_own_memory(value):
        return None
    left[0] -= value.nbytes // _BYTES
    if not value.flags.c_contiguous:
        left[0] -= value.size // _SCATTERED
    if left[0] < 0:
        return None  # Whole or not at all: one cell of a million may be what changes.
    # A copy, for numpy lets other threads run while it adds up, and one may free what is not ours.
    return hash((value.shape, value.dtype.str, *_short(value.tobytes(), known)))


def truths_of_numbers(array: Any) -> list[str]:
    """Tell of the floats of a numpy array whether nearly all are zeros, and whether some are denormal; nothing of few or very many of them."""
    module = loaded("numpy")
    numpy: dict[str, Any] = {} if module is None else members_of(module)
    functions: list[Any] = [numpy.get(name) for name in ("less", "less_equal", "not_equal", "add")]
    if any(type(each) is not numpy.get("ufunc") for each in functions):
        return []
    if type(array) is not numpy.get("ndarray") or not array.dtype.isnative:
        return []
    least_normal = _LEAST_NORMAL.get(array.dtype.kind + str(array.itemsize))
    if not least_normal or not _FEWEST_FLOATS <= array.size <= _MOST_FLOATS:
        return []
    if not _has_own_memory(array):
        return []
    less, up_to, differs, add = functions
    # A copy, as above.
    copy = numpy["ndarray"]((array.size,), array.dtype, array.tobytes())
    least = add.reduce(less(copy, least_normal)) - add.reduce(up_to(copy, -least_normal))
    if least < _DENORMALS * array.size:
        return []
    zeros = array.size - add.reduce(differs(copy, 0.0))
    if zeros >= _ZEROS * array.size:
        return ["zeros=1"]
    return ["denormals=1"] if least - zeros >= _DENORMALS * array.size else []


def _short(whole: bytes, numpy: dict[str, Any]) -> tuple[bytes, ...]:
    """Return ``whole``, or in a quarter of the time sums of its rows and of its columns, laid out as a table: of the changes of one or two
    numbers none leaves both as they were.
    """
    add: Any = numpy.get("add")
    if len(whole) < _ADDED_UP or type(add) is not numpy.get("ufunc"):
        return (whole,)
    count = len(whole) // (8 * _COLUMNS)
    table = numpy["ndarray"]((count, _COLUMNS), "u8", whole)
    sums = [add.reduce(table, axis).tobytes() for axis in (0, 1)]
    return (*sums, whole[8 * _COLUMNS * count :])


def _has_own_memory(array: Any) -> bool:
    """Tell whether numpy has made room for the elements: mapped memory may be missing, and a read of shared memory takes some."""
    owner = array
    while type(owner.base) is type(array):
        owner = owner.base
    return bool(owner.flags.owndata)
