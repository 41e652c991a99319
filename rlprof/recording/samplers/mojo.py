"""Read austin's binary format, MOJO version 3 (the only one that austin 4 writes)."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from rlprof.errors import RlprofError
from rlprof.model.recording import Frame
from rlprof.recording.mailboxes.mailbox import readable
from rlprof.recording.samplers.base import ClockStack, ClockTime

MAGIC = b"MOJ"
VERSION = 3

METADATA = 0x01
STACK = 0x02
FRAME = 0x03
FRAME_INVALID = 0x04
FRAME_REFERENCE = 0x05
FRAME_KERNEL = 0x06
GC = 0x07
IDLE = 0x08
METRIC_TIME = 0x09
METRIC_MEMORY = 0x0A
STRING = 0x0B

_TORN = -1
_GC_MARK = -2


class _NeedMore(Exception):
    """The record at hand goes on in bytes that have not arrived yet."""


class MojoReader:
    """Decodes one process's stream; keys of frames and strings are per pid."""

    def __init__(self) -> None:
        self._buffer = b""
        self._at = 0
        self._header_seen = False
        self._strings: dict[tuple[int, int], bytes] = {}
        self._frames: dict[tuple[int, int], Frame] = {}
        self._pid = 0
        self._tid = 0
        self._stack: list[int] = []
        self._wall_us: int | None = None
        self._is_idle = False
        self._memory_change = 0
        self._times: dict[Hashable, ClockTime] = {}
        self._events: dict[int, Callable[[], object]] = {
            METADATA: self._metadata,
            STACK: self._start_sample,
            FRAME: self._define_frame,
            FRAME_INVALID: lambda: self._stack.append(_TORN),
            FRAME_REFERENCE: lambda: self._stack.append(self._integer()),
            FRAME_KERNEL: self._string,
            GC: lambda: self._stack.append(_GC_MARK),
            IDLE: self._mark_idle,
            METRIC_TIME: self._time,
            METRIC_MEMORY: self._memory,
            STRING: self._define_string,
        }

    def feed(self, data: bytes) -> None:
        """Raises :class:`RlprofError` on bytes that are not MOJO version 3."""
        self._buffer = self._buffer[self._at :] + data
        self._at = 0
        done = 0
        try:
            if not self._header_seen:
                self._header()
                done = self._at
            while self._at < len(self._buffer):
                tag = self._byte()
                event = self._events.get(tag)
                if event is None:
                    raise _not_mojo(f"event {tag:#04x} is unknown")
                event()
                done = self._at
        except _NeedMore:
            pass
        self._at = done

    def has_times(self) -> bool:
        return bool(self._times)

    def drain(self) -> dict[Hashable, ClockTime]:
        """The sample being read stays out until the next one begins or :meth:`finish`."""
        times, self._times = self._times, {}
        return times

    def finish(self) -> None:
        """The stream has ended: book the last sample."""
        self._end_sample()

    def parse(self, key: Hashable) -> ClockStack:
        assert isinstance(key, tuple)
        pid, tid, *stack = key
        frames = tuple(self._frames[pid, number] for number in stack if number >= 0)
        return ClockStack(tid, frames, _GC_MARK in stack, _TORN in stack)

    def _header(self) -> None:
        if len(self._buffer) < len(MAGIC) + 1:
            raise _NeedMore
        if not self._buffer.startswith(MAGIC):
            raise _not_mojo("the magic bytes are missing")
        self._at = len(MAGIC)
        version = self._byte()
        if version != VERSION:
            raise _not_mojo(f"version {version} is not {VERSION}")
        self._header_seen = True

    def _metadata(self) -> None:
        self._string()
        self._string()

    def _start_sample(self) -> None:
        pid, _interpreter, thread = self._integer(), self._integer(), self._string()
        self._end_sample()
        self._pid = pid
        # Austin writes the thread id as hexadecimal text.
        self._tid = int(thread, 16)
        self._stack = []

    def _end_sample(self) -> None:
        if self._wall_us is None:
            return
        key = (self._pid, self._tid, *self._stack)
        time = self._times.get(key)
        if time is None:
            time = self._times[key] = ClockTime()
        if self._is_idle:
            time.idle_us += self._wall_us
        else:
            time.busy_us += self._wall_us
        time.ticks += 1
        time.add_memory(self._memory_change)
        self._wall_us = None
        self._is_idle = False
        self._memory_change = 0

    def _define_frame(self) -> None:
        key, file, scope, line, _end_line, _column, _end_column = (
            self._integer() for _ in range(7)
        )
        self._frames[self._pid, key] = Frame(self._text(file), self._text(scope), line)

    def _mark_idle(self) -> None:
        self._is_idle = True

    def _time(self) -> None:
        self._wall_us = self._integer()

    def _memory(self) -> None:
        self._memory_change = self._integer()

    def _define_string(self) -> None:
        key = self._integer()
        self._strings[self._pid, key] = self._string()

    def _text(self, key: int) -> str:
        return readable(self._strings.get((self._pid, key), b"?"))

    def _byte(self) -> int:
        if self._at >= len(self._buffer):
            raise _NeedMore
        value = self._buffer[self._at]
        self._at += 1
        return value

    def _integer(self) -> int:
        """6 value bits and the sign in the first byte, 7 in each further one, low bits first."""
        byte = self._byte()
        value = byte & 0x3F
        negative = byte & 0x40
        shift = 6
        while byte & 0x80:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
        return -value if negative else value

    def _string(self) -> bytes:
        end = self._buffer.find(b"\0", self._at)
        if end < 0:
            raise _NeedMore
        value = self._buffer[self._at : end]
        self._at = end + 1
        return value


def _not_mojo(what: str) -> RlprofError:
    return RlprofError(
        f"the sampler's output is not MOJO version {VERSION}: {what}",
        slug="sampler-format",
        hint="use austin 3.7 or 4.0 (`pip install austin-dist`), or name another with --austin PATH",
    )
