"""Writes austin's MOJO format, version 3, for the tests of its reader."""

from __future__ import annotations

from collections.abc import Sequence

from rlprof.model.recording import Frame
from rlprof.recording.samplers import mojo


def integer(value: int) -> bytes:
    """6 value bits, the sign and a mark to go on in the first byte; 7 bits and the mark after."""
    rest = abs(value)
    byte = rest & 0x3F | (0x40 if value < 0 else 0)
    rest >>= 6
    coded = bytearray()
    while rest:
        coded.append(byte | 0x80)
        byte = rest & 0x7F
        rest >>= 7
    coded.append(byte)
    return bytes(coded)


def text(value: str) -> bytes:
    return value.encode() + b"\0"


class MojoStream:
    def __init__(self) -> None:
        self._parts = [mojo.MAGIC, bytes([mojo.VERSION])]
        self._event(mojo.METADATA, text("mode"), text("full"))
        self._keys: dict[tuple[int, object], int] = {}

    def bytes(self) -> bytes:
        return b"".join(self._parts)

    def sample(
        self,
        tid: int,
        frames: Sequence[Frame],
        wall_us: int,
        *,
        pid: int = 1,
        idle: bool = False,
        gc: bool = False,
        torn: bool = False,
        memory: int = 0,
    ) -> None:
        """A sample and, before its frames' first use, their definitions."""
        self._event(mojo.STACK, integer(pid), integer(0), text(f"{tid:x}"))
        for frame in frames:
            self._event(mojo.FRAME_REFERENCE, integer(self._frame(pid, frame)))
        if torn:
            self._event(mojo.FRAME_INVALID)
        if gc:
            self._event(mojo.GC)
        self._event(mojo.METRIC_TIME, integer(wall_us))
        if idle:
            self._event(mojo.IDLE)
        self._event(mojo.METRIC_MEMORY, integer(memory))

    def _frame(self, pid: int, frame: Frame) -> int:
        key = self._keys.get((pid, frame))
        if key is None:
            file, function = self._string(pid, frame.file), self._string(pid, frame.function)
            key = self._keys[pid, frame] = len(self._keys) + 1
            place = (frame.line, frame.line, 0, 80)
            self._event(mojo.FRAME, *map(integer, (key, file, function, *place)))
        return key

    def _string(self, pid: int, value: str) -> int:
        key = self._keys.get((pid, value))
        if key is None:
            key = self._keys[pid, value] = len(self._keys) + 1
            self._event(mojo.STRING, integer(key), text(value))
        return key

    def _event(self, tag: int, *parts: bytes) -> None:
        self._parts += [bytes([tag]), *parts]
