"""The same for Python 3.9 and 3.10, where jumps name the place that they lead to, so that those of the whole function are written anew."""

from __future__ import annotations

from dis import findlinestarts
from opcode import EXTENDED_ARG, hasjabs, hasjrel, opmap

from .marked_code import PYTHON, STACK, encoded, first_argument

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any, Optional

    Lines = list[Optional[int]]

_JUMPED = 1 if PYTHON >= (3, 10) else 2
"""Size of a unit of code, of two bytes, in the argument of a jump."""
_NO_LINE = -128
_MOST_UP, _MOST_BYTES = 127, 254
"""Largest steps of a table of lines, in lines and in bytes of code."""


def with_marks(code: CodeType, ticks: Any, look: Any) -> CodeType:
    """``marked_code.marked`` of what is no generator."""
    found, jumps, lines = _read(code)
    # Coroutines of 3.10 begin with an instruction of their own.
    at = int(PYTHON >= (3, 10) and found[0][0] == opmap.get("GEN_START"))
    of_ticks, of_look = len(code.co_consts), len(code.co_consts) + 1
    mark = [
        ("LOAD_CONST", of_ticks),
        ("FOR_ITER", 0),
        ("ROT_TWO", 0),
        ("POP_TOP", 0),
        ("POP_JUMP_IF_TRUE", 0),
        ("LOAD_CONST", of_look),
        first_argument(code),
        ("CALL_FUNCTION", 1),
        ("POP_TOP", 0),
    ]
    more = len(mark)
    jumps = {
        each + more * (each >= at): target + more * (target >= at) for each, target in jumps.items()
    }
    jumps[at + 1], jumps[at + 4] = at + 5, at + more
    lines[at:at] = [lines[at]] * more
    found[at:at] = [(opmap[name], argument) for name, argument in mark]
    written, units = _written(found, jumps)
    table = "co_linetable" if PYTHON >= (3, 10) else "co_lnotab"
    changed: dict[str, Any] = {table: bytes(_table_of(lines, units, code.co_firstlineno))}
    return code.replace(
        co_code=written,
        co_consts=(*code.co_consts, ticks, look, None),
        co_stacksize=max(code.co_stacksize, STACK),
        **changed,
    )


def _read(code: CodeType) -> tuple[list[tuple[int, int]], dict[int, int], Lines]:
    """Instructions with their arguments; of jumps, by index, that of the instruction to which each leads; and the line of each instruction."""
    found: list[tuple[int, int]] = []
    begins: list[int] = []
    """Offset of each instruction, with what extends its argument."""
    ends: list[int] = []
    extended, begun = 0, 0
    for offset in range(0, len(code.co_code), 2):
        number, argument = code.co_code[offset], code.co_code[offset + 1] | extended
        if number == EXTENDED_ARG:
            extended = argument << 8
            continue
        found.append((number, argument))
        begins.append(begun)
        ends.append(offset + 2)
        extended, begun = 0, offset + 2
    places = {offset: index for index, offset in enumerate(begins)}
    jumps = {}
    for index, (number, argument) in enumerate(found):
        if number in hasjabs:
            jumps[index] = places[argument * 2 // _JUMPED]
        elif number in hasjrel:
            jumps[index] = places[ends[index] + argument * 2 // _JUMPED]
    spans = list(_lines_of(code))
    lines = [next((line for first, end, line in spans if first <= at < end), None) for at in begins]
    return found, jumps, lines


def _lines_of(code: CodeType) -> Iterator[tuple[int, int, Optional[int]]]:
    if PYTHON >= (3, 10):
        yield from code.co_lines()
        return
    starts = list(findlinestarts(code))
    ends = [first for first, _ in starts[1:]] + [len(code.co_code)]
    for (first, line), end in zip(starts, ends):  # noqa: B905 - Python 3.9 has no ``strict``
        yield first, end, line


def _written(found: list[tuple[int, int]], jumps: dict[int, int]) -> tuple[bytes, list[int]]:
    """The code, and how many units each instruction takes: more where its argument is long, which moves what others lead to."""
    arguments = [argument for _, argument in found]
    units = [1] * len(found)
    while True:
        places = [0]
        for each in units:
            places.append(places[-1] + each)
        for index, target in jumps.items():
            from_there = 0 if found[index][0] in hasjabs else places[index + 1]
            arguments[index] = (places[target] - from_there) * _JUMPED
        wanted = [
            max(each, len(encoded(0, argument)) // 2)
            for each, argument in zip(units, arguments)  # noqa: B905 - as above
        ]
        if wanted == units:
            break
        units = wanted
    written = [
        encoded(number, argument, each)
        for (number, _), argument, each in zip(found, arguments, units)  # noqa: B905 - as above
    ]
    return b"".join(written), units


def _table_of(lines: Lines, units: list[int], first_line: int) -> Iterator[int]:
    """Bytes of the table of lines: of 3.10 how long each line lasts (Objects/lnotab_notes.txt), of 3.9 how far it is to the next."""
    runs: list[list[Any]] = []
    for line, each in zip(lines, units):  # noqa: B905 - as above
        if runs and runs[-1][0] == line:
            runs[-1][1] += 2 * each
        else:
            runs.append([line, 2 * each])
    now, far = first_line, 0
    for line, length in runs:
        if PYTHON >= (3, 10):
            steps = [_NO_LINE] if line is None else _steps(now, line)
            for step in steps[:-1]:
                yield from (0, step & 255)
            last = steps[-1]
            while length > _MOST_BYTES:
                yield from (_MOST_BYTES, last & 255)
                length, last = length - _MOST_BYTES, 0 if line is not None else _NO_LINE
            yield from (length, last & 255)
        else:
            while far > _MOST_BYTES:
                yield from (_MOST_BYTES, 0)
                far -= _MOST_BYTES
            for step in _steps(now, line):
                yield from (far, step & 255)
                far = 0
            far += length
        now = now if line is None else line


def _steps(now: int, line: int) -> list[int]:
    """From one line to another, in steps that a byte has room for."""
    steps = []
    while abs(line - now) > _MOST_UP:
        step = _MOST_UP if line > now else -_MOST_UP
        steps.append(step)
        now += step
    return [*steps, line - now]
