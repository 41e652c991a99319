"""The other end of a stream of Python's own: a file, or somebody who takes what is written and answers. Asked of classes in C alone."""

from __future__ import annotations

import sys

from . import foreign_errors
from .plain_reads import is_class
from .real import os

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

_BUFFERED = ("BufferedReader", "BufferedWriter", "BufferedRandom")
_KINDS = {0o100000: "file", 0o010000: "pipe", 0o140000: "socket", 0o020000: "device"}
"""Kinds of what a descriptor stands for, by those bits of its mode."""
_KIND = 0o170000


def leads_to(stream: Any) -> str:
    """``file``, ``pipe``, ``socket``, ``pair`` (of pipes or within a socket) or ``device`` (a terminal is one); empty for what is no such stream, or is closed."""
    if is_class(type(stream), "_io", "TextIOWrapper"):
        stream = stream.buffer
    if is_class(type(stream), "_io", "BufferedRWPair"):
        return "pair"  # It tells nobody of its two streams. Files have another class for both ways.
    if any(is_class(type(stream), "_io", name) for name in _BUFFERED):
        stream = stream.raw
    if is_class(type(stream), "socket", "SocketIO"):
        return "socket"
    if not is_class(type(stream), "_io", "FileIO"):
        return ""
    try:
        return _KINDS.get(os.fstat(stream.fileno()).st_mode & _KIND, "")
    except (OSError, ValueError) as error:
        if foreign_errors.trim(error):
            raise
        return ""


def printed_to() -> str:
    """The same of the stream that ``print`` writes to."""
    return leads_to(sys.stdout)
