"""What austin writes as text, in every mode that measures time, and what ``mojo2austin`` makes."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import BinaryIO, Final

from rlprof.foreign import remarks
from rlprof.foreign.austin import AustinStacks
from rlprof.foreign.base import ForeignFormat, damaged
from rlprof.foreign.opening import blocks_of_lines
from rlprof.model.recording import Recording
from rlprof.recording.samplers.text import TextReader

_BEGINS: Final = re.compile(rb"# austin: |P\d+;T[^; \n]+[; ]")
_REMARK: Final = re.compile(rb"^# (\w+): *(.*)$", re.MULTILINE)

_TIME_ALONE: Final = re.compile(rb"^(P[^\n]* \d{1,18})$(?=\n)", re.MULTILINE)
"""A line of the modes that write no other metric; its end must be there, or the number may be cut."""

_BARE_THREAD: Final = re.compile(
    rb"^(P\d{1,18};T)(0x[0-9a-fA-F]{1,16}|\d{1,18})(?=[; ])", re.MULTILINE
)
"""A thread without its interpreter, as older versions write it."""


def _recognises(head: bytes) -> bool:
    lines = head.split(b"\n", 20)
    return any(_BEGINS.match(line) for line in lines[:20])


def _read(file: BinaryIO, path: Path) -> Recording:
    reader = TextReader()
    stacks = AustinStacks(reader, _pid)
    for block in blocks_of_lines(file, path):
        lines = block.replace(b"\r\n", b"\n")
        for key, value in _REMARK.findall(lines):
            stacks.header.facts[key.decode()] = value.decode("utf-8", "replace").strip()
        reader.feed(_with_all_metrics(lines))
        try:
            stacks.fold()
        # Numbers of thousands of digits.
        except ValueError as error:
            raise damaged(path, f"a line has a number that is none ({error})") from error
    reader.finish()
    bad = [remarks.bad_lines(reader.bad_lines)] if reader.bad_lines else []
    return stacks.recording(path, "as text", *bad)


def _with_all_metrics(lines: bytes) -> bytes:
    """``lines`` as the reader knows them, which wants those of full metrics."""
    lines = _TIME_ALONE.sub(rb"\1,0,0", lines)
    return _BARE_THREAD.sub(_named_thread, lines)


def _named_thread(match: re.Match[bytes]) -> bytes:
    return b"%s0:%d" % (match[1], int(match[2], 0))


def _pid(key: Hashable) -> int:
    assert isinstance(key, bytes)
    return int(key[1 : key.index(b";")])


FORMAT: Final = ForeignFormat("austin's text", _recognises, _read)
