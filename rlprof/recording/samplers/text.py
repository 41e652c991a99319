"""Read austin's text format (3.x): ``P<pid>;T<iid>:<tid>;file:function:line;… wall,idle,rss``."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator

from rlprof.model.recording import GC_FUNCTION, INVALID_FUNCTION, Frame
from rlprof.recording.mailboxes.mailbox import readable
from rlprof.recording.samplers.base import ClockStack, ClockTime

_GC = GC_FUNCTION.encode()
_INVALID = INVALID_FUNCTION.encode()
_SAMPLE = re.compile(rb"P\d+;T[^;]*:\d+(;|$)")
_METRICS = re.compile(rb" (\d{1,18}),([01]),(-?\d{1,18})\n")
"""The end of a sample's line: wall µs, idle flag, change of memory. Cutting the text here takes
one copy of each stack, where cutting lines first would take two.
"""
_FRAME_END = re.compile(rb":[^:]*:\d*\Z")

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
        parts = _METRICS.split(self._rest + data)
        remarks, _, self._rest = parts.pop().rpartition(b"\n")
        times = self._times
        for stack, wall_us, idle, change in zip(
            parts[::4], map(int, parts[1::4]), parts[2::4], parts[3::4], strict=True
        ):
            time = times.get(stack)
            if time is None:
                time = self._new_time(stack)
                if time is None:
                    continue
            if idle == b"1":
                time.idle_us += wall_us
            else:
                time.busy_us += wall_us
            time.ticks += 1
            if change != b"0":
                time.add_memory(int(change))
        self._other_lines(remarks)

    def has_times(self) -> bool:
        return bool(self._times)

    def drain(self) -> dict[Hashable, ClockTime]:
        times, self._times = self._times, {}
        return times

    def finish(self) -> None:
        self._other_lines(self._rest)
        self._rest = b""

    def parse(self, key: Hashable) -> ClockStack:
        assert isinstance(key, bytes)
        parsed = self._parsed.get(key)
        if parsed is None:
            if len(self._parsed) >= MAX_PARSED:
                self._parsed.clear()
            parsed = self._parsed[key] = _stack(key)
        return parsed

    def _new_time(self, text: bytes) -> ClockTime | None:
        """The time of a stack not seen since the last drain, or None when ``text`` is no stack;
        lines that are no samples may come before it.
        """
        others, _, stack = text.rpartition(b"\n")
        self._other_lines(others)
        if not _SAMPLE.match(stack):
            self.bad_lines += not stack.startswith(b"#")
            return None
        return self._times.setdefault(stack, ClockTime())

    def _other_lines(self, text: bytes) -> None:
        self.bad_lines += sum(1 for line in text.split(b"\n") if line and not line.startswith(b"#"))


def _stack(key: bytes) -> ClockStack:
    _, thread, *parts = key.split(b";")
    frames = list(_whole(parts))
    tid = int(thread.rpartition(b":")[2])
    is_gc = bool(frames) and frames[-1] == _GC
    is_torn = _INVALID in frames
    parsed = tuple(_frame(text) for text in frames if text not in (_GC, _INVALID))
    return ClockStack(tid, parsed, is_gc, is_torn)


def _whole(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Frames of a stack that was cut at each semicolon: a file name may hold some itself."""
    begun = b""
    for part in parts:
        frame = begun + part
        if _FRAME_END.search(frame):
            yield frame
            begun = b""
        else:
            begun = frame + b";"
    if begun:
        yield begun[:-1]


def _frame(text: bytes) -> Frame:
    """``file:function:line``; a file name may hold colons itself."""
    rest, _, line = text.rpartition(b":")
    file, _, function = rest.rpartition(b":")
    return Frame(readable(file), readable(function), int(line) if line.isdigit() else 0)
