"""What both formats of austin share: its header, and how its stacks are booked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rlprof.foreign import remarks
from rlprof.foreign.base import without_time
from rlprof.foreign.recorded import Told, recording_of
from rlprof.foreign.sums import GC_FRAME, NO_STACK_FRAME, TORN_FRAME, StackSums
from rlprof.model.recording import Note, Recording
from rlprof.recording.samplers.base import ClockStack, ClockTime, StackReader


@dataclass
class AustinHeader:
    """What austin says about its own work, at the start and at the end of a file."""

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
        told = Told(
            interval_us=self.header.interval_us,
            wall_us=self.header.wall_us,
            notes=(
                remarks.lacks(self.header.program(form)),
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
            yield remarks.waits_left_out("austin left idle threads out (-s)")
        elif self.header.mode != "full" and not self._has_idle:
            yield remarks.waits_unknown("austin was not asked which threads were idle (-f)")
