"""Code of a function with instructions at its beginning that go through an iterator, one item for each call.

No function stands around the program's own, so that nothing of it is another object than before, and no frame, traceback or signature shows it. A
call takes some 10 ns longer (``benchmarks/counting.py``), and is no call of anything: profilers and tracers see none. Where the iterator gives
something false, or has come to its end, a function of ours is called with what the program's function was given first::

    if not next(ticks, False):
        look(self)
"""

from __future__ import annotations

# Not ``dis``, which takes long to import.
from opcode import EXTENDED_ARG, opmap
from sys import version_info

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Optional

PYTHON = version_info[:2]

CO_VARARGS, CO_GENERATORS = 4, 32 | 512
"""Flags of code: that it takes ``*args``, and those of generators, which are called for what comes later."""
STACK = 4
"""Most that the instructions have on the stack at a time."""
_UNITS_A_LINE = 8
"""Most units of code to an entry of the table of lines; a unit is two bytes."""
_ENTRY, _ONE_LINE, _NO_COLUMNS, _LONG, _NO_LINE = 0x80, (10, 11, 12), 13, 14, 15
"""First bit of each entry there, and kinds of entries: 0, 1 or 2 lines further, without columns, with all, and of no line
(Objects/locations.md in the source of Python 3.11).
"""
_MORE, _VALUE = 0x40, 0x3F
"""Bits of a byte of a number there and in the table of exceptions (Objects/exception_handling_notes.txt): whether more follow, and its own."""


_made: dict[tuple[int, str, int], bytes] = {}
"""Instructions, by the number of constants before and what loads the argument."""


def marked(code: CodeType, ticks: Any, look: Any) -> Optional[CodeType]:
    """``code`` that goes through the iterator ``ticks``, and calls ``look`` with its first argument (with all of them, in a tuple, where it takes
    ``*args`` alone; with None where it takes none). None where that cannot be done: a generator's, or of a Python that is not known.
    """
    if code.co_flags & CO_GENERATORS:
        return None
    if PYTHON < (3, 11):
        from .marked_code_310 import with_marks

        return with_marks(code, ticks, look)
    if PYTHON > (3, 13):
        return None
    begun = code.co_code
    resume = opmap["RESUME"]
    at = next((i for i in range(0, len(begun), 2) if begun[i] == resume), None)
    if at is None:
        return None
    at += 2
    mark = _instructions(code)
    changed: dict[str, Any] = {
        "co_linetable": _with_units(code.co_linetable, at // 2, len(mark) // 2),
        "co_exceptiontable": _moved(_exceptions_of(code), at // 2, len(mark) // 2),
    }
    return code.replace(
        co_code=begun[:at] + mark + begun[at:],
        co_consts=(*code.co_consts, ticks, look, None),
        co_stacksize=max(code.co_stacksize, STACK),
        **changed,
    )


def _exceptions_of(code: Any) -> bytes:
    """The table of exceptions, which Python 3.9 and 3.10 do not have."""
    table: bytes = code.co_exceptiontable
    return table


def value_of(code: Any) -> tuple[Any, ...]:
    """All that two codes have to have in common for one to stand for the other. Codes are equal that are of different files, and before Python 3.12 such
    whose lines differ.
    """
    lines = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    return code, code.co_filename, lines, getattr(code, "co_qualname", "")


def first_argument(code: CodeType) -> tuple[str, int]:
    """The instruction that loads what ``look`` is given, and its argument."""
    if not code.co_argcount and not code.co_flags & CO_VARARGS:
        return "LOAD_CONST", len(code.co_consts) + 2
    index = 0 if code.co_argcount else code.co_kwonlyargcount
    name = code.co_varnames[index]
    if name not in code.co_cellvars:
        return "LOAD_FAST", index
    # From 3.11 on cells have the numbers of their variables.
    return "LOAD_DEREF", index if PYTHON >= (3, 11) else code.co_cellvars.index(name)


def _instructions(code: CodeType) -> bytes:
    asked = len(code.co_consts), *first_argument(code)
    if asked not in _made:
        _made[asked] = _made_for(*asked)
    return _made[asked]


def _made_for(ticks: int, *loads: Any) -> bytes:
    look, argument = ticks + 1, _one(*loads)
    if PYTHON == (3, 11):
        call = _one("PUSH_NULL") + _one("LOAD_CONST", look) + argument
        call += _one("PRECALL", 1, caches=1) + _one("CALL", 1, caches=4) + _one("POP_TOP")
        over, end, jump, caches, looping = b"", b"", "POP_JUMP_FORWARD_IF_TRUE", 0, 0
    elif PYTHON == (3, 12):
        call = _one("PUSH_NULL") + _one("LOAD_CONST", look) + argument
        call += _one("CALL", 1, caches=3) + _one("POP_TOP")
        # What stands at the end of a loop is passed over when that ends.
        end, over = _one("END_FOR"), _one("JUMP_FORWARD", 1)
        jump, caches, looping = "POP_JUMP_IF_TRUE", 0, 1
    else:
        call = _one("LOAD_CONST", look) + _one("PUSH_NULL") + argument
        call += _one("CALL", 1, caches=3) + _one("POP_TOP")
        end, over = _one("END_FOR") + _one("POP_TOP"), _one("JUMP_FORWARD", 2)
        jump, caches, looping = "POP_JUMP_IF_TRUE", 1, 1
    behind = len(over + end + call) // 2
    loop = _one("SWAP", 2) + _one("POP_TOP") + _one(jump, behind, caches) + over
    start = _one("LOAD_CONST", ticks) + _one("FOR_ITER", len(loop) // 2, looping)
    return start + loop + end + call


def _one(name: str, argument: int = 0, caches: int = 0) -> bytes:
    """An instruction with room for what Python notes of it."""
    return encoded(opmap[name], argument) + bytes(2 * caches)


def encoded(number: int, argument: int, units: int = 1) -> bytes:
    """The instruction ``number``, in as many units as its argument takes, or more."""
    found = bytes((number, argument & 255))
    while argument >> 8 or len(found) < 2 * units:
        argument >>= 8
        found = bytes((EXTENDED_ARG, argument & 255)) + found
    return found


def _with_units(lines: bytes, at: int, units: int) -> bytes:
    """The table of lines with ``units`` more after the first ``at``, of the line that follows: a tracer sees it begin once, as before."""
    index = before = 0
    while before < at:
        before += (lines[index] & 7) + 1
        index = _end_of(lines, index)
    # What comes next may have the place of the function itself: in one entry with what comes before.
    end = _end_of(lines, index) if before == at else index
    step, further = _from_the_line_before(lines[index:end])
    more = b""
    while units > 0:
        each = min(units, _UNITS_A_LINE)
        more += bytes((_ENTRY | _NO_COLUMNS << 3 | each - 1,)) + _written_backwards(step)
        units, step = units - each, 0
    return lines[:index] + more + further + lines[end:]


def _end_of(lines: bytes, index: int) -> int:
    """Return where the entry ends that begins there."""
    index += 1
    while index < len(lines) and not lines[index] & _ENTRY:
        index += 1
    return index


def _from_the_line_before(entry: bytes) -> tuple[int, bytes]:
    """By how much an entry goes on from the line before, as it is written, and the entry for what is on that line already."""
    kind = entry[0] >> 3 & 15 if entry else _NO_LINE
    if kind in _ONE_LINE:
        step = kind - _ONE_LINE[0]
        return step << 1, bytes((entry[0] & ~(15 << 3) | _ONE_LINE[0] << 3,)) + entry[1:]
    if kind in (_NO_COLUMNS, _LONG):
        step, end = _backwards(entry, 1)
        return step, entry[:1] + b"\0" + entry[end:]
    return 0, entry


def _moved(exceptions: bytes, at: int, units: int) -> bytes:
    """The table of exceptions with ``units`` more after the first ``at``."""
    moved, index = bytearray(), 0
    while index < len(exceptions):
        values = []
        for _ in range(4):
            value, index = _read(exceptions, index)
            values.append(value)
        start, length, target, depth = values
        if start < at < start + length:
            length += units
        start += units if start >= at else 0
        target += units if target >= at else 0
        for place, value in enumerate((start, length, target, depth)):
            written = _written(value)
            moved += bytes((written[0] | (0 if place else _ENTRY),)) + written[1:]
    return bytes(moved)


def _read(table: bytes, index: int) -> tuple[int, int]:
    """A number of the table of exceptions that begins there, the highest bits first, and where it ends."""
    value = table[index] & _VALUE
    while table[index] & _MORE:
        index += 1
        value = value << 6 | table[index] & _VALUE
    return value, index + 1


def _written(value: int) -> bytes:
    written = bytes((value & _VALUE,))
    while value := value >> 6:
        written = bytes((value & _VALUE | _MORE,)) + written
    return written


def _backwards(table: bytes, index: int) -> tuple[int, int]:
    """The same of the table of lines: the lowest bits first, and the sign in the last bit, which is left there."""
    value = shift = 0
    while True:
        value |= (table[index] & _VALUE) << shift
        shift += 6
        index += 1
        if not table[index - 1] & _MORE:
            return value, index


def _written_backwards(value: int) -> bytes:
    written = b""
    while value > _VALUE:
        written += bytes((value & _VALUE | _MORE,))
        value >>= 6
    return written + bytes((value,))
