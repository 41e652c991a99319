"""Tell what austin writes, in both of its formats: its header, and how its stacks are booked."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from rlprof.errors import RlprofError, RunFileError
from rlprof.foreign.base import (
    ForeignFormat,
    bad_lines,
    blocks,
    blocks_of_lines,
    damaged,
    lacks,
    waits_unknown,
    without_time,
)
from rlprof.foreign.recorded import ProfileFacts, recording_of
from rlprof.foreign.sums import StackSums
from rlprof.model.recording import GC_FRAME, NO_STACK_FRAME, TORN_FRAME, Note, Recording
from rlprof.recording.samplers.base import ClockStack, ClockTime, StackReader
from rlprof.recording.samplers.mojo import MAGIC, VERSION, MojoReader
from rlprof.recording.samplers.text import TextReader


@dataclass
class AustinHeader:
    """Facts that austin tells about its own work, at the start and at the end of a file."""

    facts: dict[str, str] = field(default_factory=dict)

    @property
    def mode(self) -> str:
        """``wall``, ``cpu``, ``full`` or ``memory``; empty when the file does not tell."""
        return self.facts.get("mode", "")

    @property
    def interval_us(self) -> int:
        return self._number("interval")

    @property
    def wall_us(self) -> int:
        return self._number("duration")

    def program(self, form: str) -> str:
        version = self.facts.get("austin", "")
        return f"austin{f' {version}' if version else ''}, {form}"

    def _number(self, key: str) -> int:
        value = self.facts.get(key, "")
        return int(value) if value.isdecimal() and len(value) < 18 else 0


class AustinStacks:
    """Takes stacks from one of austin's readers, of any number of processes, into the sums."""

    def __init__(self, reader: StackReader, pid_of: Callable[[Hashable], int]) -> None:
        """``pid_of`` a reader's key: its stacks know their thread alone."""
        self.reader = reader
        self.header = AustinHeader()
        self._pid_of = pid_of
        self._sums = StackSums()
        self._has_idle = False
        self._empty: dict[int, ClockTime] = {}
        self._with_frames: set[int] = set()

    def fold(self) -> None:
        """Take what the reader has: memory stays that of the distinct stacks."""
        for key, time in self.reader.drain().items():
            stack = self.reader.parse(key)
            process = self._sums.process(self._pid_of(key))
            thread = self._sums.thread(process, stack.tid)
            self._has_idle = self._has_idle or time.idle_us > 0
            if stack.frames or stack.is_torn:
                self._with_frames.add(thread)
                self._book(thread, stack, time)
            else:
                empty = self._empty.setdefault(thread, ClockTime())
                empty.busy_us += time.busy_us
                empty.idle_us += time.idle_us
                empty.ticks += time.ticks

    def recording(self, path: Path, form: str, *notes: Note) -> Recording:
        """Raises :class:`RunFileError` when there was no time in it."""
        if self.header.mode == "memory":
            raise without_time(path, "austin measured memory (-m)")
        self._book_empty()
        if not self._sums.total_us:
            raise without_time(path, "it has no whole sample")
        told = ProfileFacts(
            interval_us=self.header.interval_us,
            wall_us=self.header.wall_us,
            notes=(
                lacks(self.header.program(form)),
                *self._idle_notes(),
                *notes,
            ),
        )
        return recording_of(self._sums, path, told)

    def _book(self, thread: int, stack: ClockStack, time: ClockTime) -> None:
        node = self._sums.node(stack.frames or (TORN_FRAME,))
        at = node
        if stack.is_torn:
            at = self._sums.node((TORN_FRAME,))
        elif stack.is_gc:
            at = self._sums.child(node, GC_FRAME)
        # A sleeping stack does not move: even one marked torn is as good as it gets.
        if time.idle_us:
            self._sums.add(thread, node, idle_us=time.idle_us, ticks=0)
        total = self._sums.add(thread, at, busy_us=time.busy_us, ticks=time.ticks)
        total.grown_bytes += time.grown_bytes
        total.released_bytes += time.released_bytes

    def _book_empty(self) -> None:
        node = self._sums.node((NO_STACK_FRAME,))
        for thread, time in self._empty.items():
            # A thread that is about to start shows as an empty stack under its creator's id.
            if thread not in self._with_frames:
                self._sums.add(
                    thread, node, busy_us=time.busy_us, idle_us=time.idle_us, ticks=time.ticks
                )

    def _idle_notes(self) -> Iterator[Note]:
        if self.header.mode == "cpu":
            yield Note(
                "info",
                "foreign-waits",
                "austin left idle threads out (-s): shares are those of the working time.",
            )
        elif self.header.mode != "full" and not self._has_idle:
            yield waits_unknown("austin was not asked which threads were idle (-f)")


# --- its binary format, MOJO ----------------------------------------------------------------


_HEADER_BYTES: Final = 4096
_FACT: Final = re.compile(rb"\x01(austin|interval|mode)\x00([^\x00]{1,40})\x00")


def _is_mojo(head: bytes) -> bool:
    return head.startswith(MAGIC)


def _read_mojo(file: BinaryIO, path: Path) -> Recording:
    reader = MojoReader()
    stacks = AustinStacks(reader, _pid_in_mojo)
    _check_version(file, path)
    try:
        for number, block in enumerate(blocks(file, path)):
            if number == 0:
                _read_header(block, stacks)
            reader.feed(block)
            stacks.fold()
        reader.finish()
        stacks.fold()
    except RunFileError:
        raise
    except RlprofError as error:
        raise damaged(path, error.message) from error
    # A stack of frames that were never described, or an id that is no number.
    except (KeyError, ValueError) as error:
        raise damaged(path, f"its records do not fit together ({error!r})") from error
    return stacks.recording(path, "as MOJO")


def _check_version(file: BinaryIO, path: Path) -> None:
    version = file.read(len(MAGIC) + 1)[len(MAGIC) :]
    file.seek(0)
    if version and version[0] != VERSION:
        raise damaged(path, f"it is MOJO of version {version[0]}, and only {VERSION} is read")


def _read_header(block: bytes, stacks: AustinStacks) -> None:
    # The reader skips remarks; those that matter here stand first.
    for key, value in _FACT.findall(block[:_HEADER_BYTES]):
        stacks.header.facts.setdefault(key.decode(), value.decode("utf-8", "replace"))


def _pid_in_mojo(key: Hashable) -> int:
    assert isinstance(key, tuple)
    return int(key[0])


MOJO: Final = ForeignFormat("austin's MOJO", _is_mojo, _read_mojo)


# --- its text, in every mode that measures time, and what mojo2austin makes -----------------


_BEGINS: Final = re.compile(rb"# austin: |P\d+;T[^; \n]+[; ]")
_REMARK: Final = re.compile(rb"^# (\w+): *(.*)$", re.MULTILINE)

_TIME_ALONE: Final = re.compile(rb"^(P[^\n]* \d{1,18})$(?=\n)", re.MULTILINE)
"""A line of the modes that write no other metric; its end must be there, or the number may be cut."""

_BARE_THREAD: Final = re.compile(
    rb"^(P\d{1,18};T)(0x[0-9a-fA-F]{1,16}|\d{1,18})(?=[; ])", re.MULTILINE
)
"""A thread without its interpreter, as older versions write it."""


def _is_text(head: bytes) -> bool:
    lines = head.split(b"\n", 20)
    return any(_BEGINS.match(line) for line in lines[:20])


def _read_text(file: BinaryIO, path: Path) -> Recording:
    reader = TextReader()
    stacks = AustinStacks(reader, _pid_in_text)
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
    bad = [bad_lines(reader.bad_lines)] if reader.bad_lines else []
    return stacks.recording(path, "as text", *bad)


def _with_all_metrics(lines: bytes) -> bytes:
    """``lines`` as the reader knows them, which wants those of full metrics."""
    lines = _TIME_ALONE.sub(rb"\1,0,0", lines)
    return _BARE_THREAD.sub(_named_thread, lines)


def _named_thread(match: re.Match[bytes]) -> bytes:
    return b"%s0:%d" % (match[1], int(match[2], 0))


def _pid_in_text(key: Hashable) -> int:
    assert isinstance(key, bytes)
    return int(key[1 : key.index(b";")])


TEXT: Final = ForeignFormat("austin's text", _is_text, _read_text)
