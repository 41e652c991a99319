"""Name the file in which code was written, and find what of it stands on a line: instructions, comprehensions."""

from __future__ import annotations

from .layout import UNNAMED_FILE

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any


def file_of(code: CodeType, names: dict[str, Any]) -> str:
    """Return the file of ``code``, whose globals are ``names``: cloudpickle leaves the name of the file there."""
    if code.co_filename == UNNAMED_FILE:
        # Not by its method: a program may run code in a dict of its own kind.
        file = dict.get(names, "__file__")
        if type(file) is str:
            return file
    return code.co_filename


def comprehensions_at(code: CodeType, lines: range) -> Iterator[CodeType]:
    """Comprehensions of these lines, which were functions of their own before Python 3.12."""
    for constant in code.co_consts:
        is_one = type(constant) is type(code) and constant.co_name in ("<listcomp>", "<genexpr>")
        if is_one and constant.co_firstlineno in lines:
            yield constant


def instructions_at(code: CodeType, lines: range) -> Iterator[int]:
    """Yield where in ``code`` the instructions of these lines are; a frame that calls is at the call or in its inline cache, by how Python made it."""
    lines_of: Any = getattr(code, "co_lines", None)
    for start, end, line in lines_of() if lines_of is not None else _lines_before_3_10(code):
        if line in lines:
            yield from range(start, end)


def _lines_before_3_10(code: CodeType) -> Iterator[tuple[int, int, int]]:
    table = code.co_lnotab
    start, line = 0, code.co_firstlineno
    for at in range(0, len(table), 2):
        bytes_on, lines_on = table[at], table[at + 1]
        yield start, start + bytes_on, line
        start += bytes_on
        line += lines_on - 256 if lines_on > 127 else lines_on
    yield start, len(code.co_code), line
