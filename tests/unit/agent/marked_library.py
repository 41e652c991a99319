"""Compare all functions of some modules of Python's with themselves after a mark was put in: instructions, what jumps lead to, lines and exceptions.

Run by the Python in question, whose standard library is compared. Prints how many were compared, and the names of those that differ.
"""

from __future__ import annotations

import dis
import gc
import importlib
import json
import opcode
import sys
from types import CodeType, FunctionType

MODULES = (
    "argparse",
    "asyncio.tasks",
    "configparser",
    "contextlib",
    "dataclasses",
    "decimal",
    "difflib",
    "inspect",
    "logging.handlers",
    "pathlib",
    "pdb",
    "pickle",
    "random",
    "shutil",
    "statistics",
    "subprocess",
    "tarfile",
    "tempfile",
    "threading",
    "tokenize",
    "traceback",
    "typing",
    "unittest.mock",
    "zipfile",
)
GENERATORS = 32 | 512


def main() -> None:
    sys.path.insert(0, sys.argv[1])
    from rlprof_agent.counted.marked_code import marked

    for name in MODULES:
        importlib.import_module(name)
    codes: dict[int, CodeType] = {}
    for function in gc.get_objects():
        if type(function) is FunctionType:
            add(function.__code__, codes)
    compared, differ = 0, []
    for code in codes.values():
        if code.co_flags & GENERATORS or not code.co_flags & 2:
            continue
        compared += 1
        why = difference(code, marked(code, iter([]), print))
        if why:
            differ.append(f"{code.co_filename}:{code.co_firstlineno} {code.co_name}: {why}")
    print(json.dumps({"compared": compared, "differ": differ[:20]}))


def add(code: CodeType, codes: dict[int, CodeType]) -> None:
    codes[id(code)] = code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            add(each, codes)


def difference(own: CodeType, code: CodeType) -> str:
    before, after = instructions(own), instructions(code)
    at = next(n for n, each in enumerate(after) if each.opname == "FOR_ITER") - 1
    more = len(after) - len(before)
    rest = after[:at] + after[at + more :]
    if [each.opname for each in before] != [each.opname for each in rest]:
        return "instructions"
    targets = places(own, before), places(code, rest)
    for one, other in zip(before, rest):  # noqa: B905 - Python 3.9 has no ``strict``
        is_jump = one.opcode in dis.hasjabs or one.opcode in dis.hasjrel
        if is_jump and targets[0][one.argval] != targets[1][other.argval]:
            return "jumps"
        if not is_jump and one.arg != other.arg:
            return "arguments"
    lines = lines_of(own, before), lines_of(code, rest)
    if lines[0] != lines[1]:
        return "lines"
    begun = lines_of(code, after)[at : at + more]
    if len(set(begun)) != 1 or begun[0] not in (lines[0][at], code.co_firstlineno):
        return "line of the mark"
    return "exceptions" if exceptions(own, before) != exceptions(code, rest) else ""


def instructions(code: CodeType) -> list[dis.Instruction]:
    return [
        each for each in dis.get_instructions(code) if each.opname not in ("EXTENDED_ARG", "CACHE")
    ]


def places(code: CodeType, found: list[dis.Instruction]) -> dict[int, int]:
    """The index of each instruction by its offset, and by that of what extends its argument, where a jump may lead."""
    by_offset = {}
    for index, each in enumerate(found):
        offset = each.offset
        by_offset[offset] = index
        while offset >= 2 and code.co_code[offset - 2] == opcode.EXTENDED_ARG:
            offset -= 2
            by_offset[offset] = index
    return by_offset


def lines_of(code: CodeType, found: list[dis.Instruction]) -> list[int | None]:
    if hasattr(code, "co_positions"):
        positions = list(code.co_positions())
        return [positions[each.offset // 2][0] for each in found]
    starts, now, lines = dict(dis.findlinestarts(code)), None, []
    for each in dis.get_instructions(code):
        now = starts.get(each.offset, now)
        if each.opname != "EXTENDED_ARG":
            lines.append(now)
    if len(lines) == len(found):
        return lines
    by_offset = dict(zip([each.offset for each in instructions(code)], lines))  # noqa: B905 - as above
    return [by_offset[each.offset] for each in found]


def exceptions(code: CodeType, found: list[dis.Instruction]) -> list[tuple]:
    if not hasattr(code, "co_exceptiontable"):
        return []  # Instructions of their own, whose jumps were compared.
    by_offset = places(code, found)
    return [
        (by_offset.get(each.start), by_offset.get(each.target), each.depth, each.lasti)
        for each in dis._parse_exception_table(code)
    ]


main()
