"""Read austin's text format (3.x): ``P<pid>;T<iid>:<tid>;file:function:line;… wall,idle,rss``."""

from __future__ import annotations

import re
from collections.abc import Hashable

from rlprof.model.recording import GC_FUNCTION, INVALID_FUNCTION, Frame
from rlprof.recording.mailbox import readable
from rlprof.recording.samplers.base import ClockStack, ClockTime

_GC = GC_FUNCTION.encode()
_INVALID = INVALID_FUNCTION.encode()
_SAMPLE = re.compile(rb"P\d+;T[^;]*:\d+(;|$)")

MAX_PARSED = 50_000
"""Parsed stacks remembered before starting anew, so that memory stays bounded."""


class TextReader:
    """Keeps the sum of µs per raw stack; a line is split at its last space only."""

    def __init__(self) -> None:
        self._rest = b""
        self._times: dict[Hashable, ClockTime] = {}
        self._parsed: dict[bytes, ClockStack] = {}
        self.bad_lines = 0
        """Lines that are neither samples nor remarks, for example cut by a killed sampler."""

    def feed(self, data: bytes) -> None:
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        times = self._times
        for line in lines:
            stack, _, metrics = line.rpartition(b" ")
            try:
                wall, idle, _ = metrics.split(b",")
                microseconds = int(wall)
            except ValueError:
                self._other_line(line)
                continue
            time = times.get(stack)
            if time is None:
                if not _SAMPLE.match(stack):
                    self._other_line(line)
                    continue
                time = times[stack] = ClockTime()
            if idle == b"1":
                time.idle_us += microseconds
            else:
                time.busy_us += microseconds
            time.ticks += 1

    def has_times(self) -> bool:
        return bool(self._times)

    def drain(self) -> dict[Hashable, ClockTime]:
        times, self._times = self._times, {}
        return times

    def finish(self) -> None:
        self._other_line(self._rest)
        self._rest = b""

    def parse(self, key: Hashable) -> ClockStack:
        assert isinstance(key, bytes)
        parsed = self._parsed.get(key)
        if parsed is None:
            if len(self._parsed) >= MAX_PARSED:
                self._parsed.clear()
            parsed = self._parsed[key] = _stack(key)
        return parsed

    def _other_line(self, line: bytes) -> None:
        if line and not line.startswith(b"#"):
            self.bad_lines += 1


def _stack(key: bytes) -> ClockStack:
    _, thread, *frames = key.split(b";")
    tid = int(thread.rpartition(b":")[2])
    is_gc = bool(frames) and frames[-1] == _GC
    is_torn = _INVALID in frames
    parsed = tuple(_frame(text) for text in frames if text not in (_GC, _INVALID))
    return ClockStack(tid, parsed, is_gc, is_torn)


def _frame(text: bytes) -> Frame:
    """``file:function:line``; a file name may hold colons itself."""
    rest, _, line = text.rpartition(b":")
    file, _, function = rest.rpartition(b":")
    return Frame(readable(file), readable(function), int(line) if line.isdigit() else 0)
