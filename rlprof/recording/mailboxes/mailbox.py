"""The recorder's side of an agent's mailbox: counters, and the stacks that the probe took."""

from __future__ import annotations

import os
import struct
from mmap import mmap
from typing import NamedTuple

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.errors import RlprofError
from rlprof.model.counters import counter_of_phase, phase_of_counter
from rlprof.model.recording import Frame
from rlprof.recording.mailboxes.look_table import LookTable
from rlprof.recording.mailboxes.site_table import SiteTable
from rlprof.recording.mailboxes.treatment_desk import TreatmentDesk
from rlprof.recording.redaction.literals import hide_words

PROBE_STATE_TEXTS = {
    layout.PROBE_NO_TIMER: "no CPU-time timer could be made in it (ctypes missing?)",
    layout.PROBE_OWN_SIGURG: "the program handles SIGURG itself",
    layout.PROBE_WAKEUP_FD: "the program reads signals from a wake-up descriptor",
    layout.PROBE_DEEP_STACK: "its stack came near the recursion limit",
    layout.PROBE_TRACED: "a trace or profile function, or the like, was active in it",
    layout.PROBE_SIGURG_BLOCKED: "its main thread blocks SIGURG, or was started with it ignored",
}
"""Why a probe yielded, as the second half of a sentence."""


class WindowTold(NamedTuple):
    """A window of torch's profiler, as the agent tells it. Times in ns of CLOCK_MONOTONIC."""

    number: int
    kind: int
    fate: int
    begun_ns: int
    ended_ns: int
    updates: int


class MailboxReader:
    """Reads what one agent writes; survives the agent's process, until :meth:`close`."""

    def __init__(self, fd: int) -> None:
        """Map the memfd ``fd`` and close it.

        Raises :class:`RlprofError` when it is not a mailbox, OSError when no descriptor is left.
        """
        try:
            if os.fstat(fd).st_size != layout.SIZE:
                raise _not_a_mailbox()
            self._memory = mmap(fd, layout.SIZE)
        finally:
            os.close(fd)
        self._view = memoryview(self._memory)[: layout.SITES_START].cast("q")
        self._cells: memoryview[int] | list[int] = self._view
        if self._cells[layout.CELL_MAGIC] != layout.MAGIC:
            raise _not_a_mailbox()
        self._frames: dict[int, Frame] = {}
        self._stacks: dict[int, tuple[Frame, ...]] = {}
        self._names: list[str] = []
        self._counts_seen: list[int] = []
        self.sites = SiteTable(self._memory, self._cells)
        self.looks = LookTable(self._memory, self._view)
        self.treatment = TreatmentDesk(self._memory, self._view)

    def close(self) -> None:
        """Give its memory and its descriptor back; states, windows and sites are still told."""
        if self._cells is not self._view:
            return
        self._cells = self._view[: layout.CELL_COUNTERS].tolist()
        self.sites.close()
        self.treatment.close()
        self._view.release()
        self._memory.close()
        self._frames.clear()
        self._stacks.clear()

    @property
    def announced_exit_code(self) -> int | None:
        """The exit code that its agent foresaw; None where it ended otherwise, or lives."""
        told = self._cells[layout.CELL_EXIT]
        return told - 1 if told else None

    @property
    def probe_state(self) -> int:
        return self._cells[layout.CELL_PROBE_STATE]

    @property
    def probe_taken(self) -> int:
        return self._cells[layout.CELL_PROBE_TAKEN]

    @property
    def probe_lost(self) -> int:
        return self._cells[layout.CELL_LOST]

    @property
    def probe_cost_us(self) -> float:
        return self._cells[layout.CELL_PROBE_COST_NS] / 1000

    @property
    def looks_cost_us(self) -> float:
        """CPU time of the looks at values."""
        return self._cells[layout.CELL_LOOKS_COST_NS] / 1000

    @property
    def custom_state(self) -> int:
        """State of the target of ``--steps-from``."""
        return self._cells[layout.CELL_CUSTOM_STATE]

    @property
    def torch_state(self) -> int:
        """State of the windows of torch's profiler."""
        return self._cells[layout.CELL_TORCH_STATE]

    @property
    def torch_cost_us(self) -> float:
        """CPU time that windows of torch's profiler took from the program."""
        return self._cells[layout.CELL_WINDOWS_COST_NS] / 1000

    def grant_windows(self, may: bool) -> None:
        """Answer an agent whose state is ``TORCH_ASKS``."""
        self._cells[layout.CELL_TORCH_STATE] = (
            layout.TORCH_MAY if may else layout.TORCH_OTHER_PROCESSES
        )

    def torch_windows(self) -> list[WindowTold]:
        """Those that have begun."""
        told = []
        for number in range(layout.MAX_WINDOWS):
            first = layout.window_cell(number, 0)
            cells = list(self._cells[first : first + layout.CELLS_PER_WINDOW])
            if cells[layout.WINDOW_FATE] != layout.WINDOW_NONE:
                told.append(
                    WindowTold(
                        number,
                        kind=cells[layout.WINDOW_KIND],
                        fate=cells[layout.WINDOW_FATE],
                        begun_ns=cells[layout.WINDOW_BEGUN_NS],
                        ended_ns=cells[layout.WINDOW_ENDED_NS],
                        updates=cells[layout.WINDOW_UPDATES],
                    )
                )
        return told

    @property
    def lacks_counters(self) -> bool:
        """True if something was counted for which the table of names had no room."""
        return self._cells[layout.CELL_UNNAMED] != 0

    def let_children_wait(self, wait: bool) -> None:
        """Tell whether processes forked from this one are to wait until they are sampled."""
        self._cells[layout.CELL_NO_WAIT] = 0 if wait else 1

    def request_interval(self, interval_us: int) -> None:
        """Ask the probe to fire every ``interval_us`` of CPU time from its next stack on."""
        self._cells[layout.CELL_INTERVAL_US] = interval_us

    def total(self, name: str) -> int:
        """Return what was counted under ``name`` since the process began."""
        self._read_names()
        return sum(
            self._cells[layout.CELL_COUNTERS + number]
            for number, named in enumerate(self._names)
            if named == name
        )

    def new_counts(self) -> dict[str, float]:
        """Return what was counted since the last call, by name; nothing that stood still."""
        self._read_names()
        first = layout.CELL_COUNTERS
        totals = list(self._cells[first : first + len(self._names)])
        new: dict[str, float] = {}
        for name, total, seen in zip(self._names, totals, self._counts_seen, strict=True):
            if total != seen:
                # Two names that are cut to the same are one.
                new[name] = new.get(name, 0) + total - seen
        self._counts_seen = totals
        return new | self.sites.new_counts()

    def _read_names(self) -> None:
        used = min(layout.MAX_COUNTERS, self._cells[layout.CELL_COUNTERS_USED])
        while len(self._names) < used:
            start = layout.NAMES_START + len(self._names) * layout.NAME_SIZE
            name = self._memory[start : start + layout.NAME_SIZE].rstrip(b"\0")
            # A name may be cut within a character.
            self._names.append(_without_secrets(name.decode("utf-8", "ignore")))
            self._counts_seen.append(0)

    def take_stacks(self) -> list[tuple[tuple[Frame, ...], float]]:
        """The stacks since the last call, outermost frame first, each with its CPU time in µs."""
        cells = self._cells
        tail, head = cells[layout.CELL_TAIL], cells[layout.CELL_HEAD]
        data = self._ring_bytes(tail, head)
        cells[layout.CELL_TAIL] = head
        return self._parse(data)

    def _ring_bytes(self, tail: int, head: int) -> bytes:
        size = layout.RING_SIZE
        start, length = tail % size, head - tail
        if not 0 <= length <= size:
            # A program that writes through stray pointers can destroy anything it has mapped.
            return b""
        at = layout.RING_START + start
        first = self._memory[at : at + min(length, size - start)]
        return first + self._memory[layout.RING_START : layout.RING_START + length - len(first)]

    def _parse(self, data: bytes) -> list[tuple[tuple[Frame, ...], float]]:
        stacks = []
        at = 0
        try:
            while at < len(data):
                tag = data[at]
                if tag == layout.TAG_SAMPLE:
                    _, stack, weight_ns = layout.SAMPLE.unpack_from(data, at)
                    at += layout.SAMPLE.size
                    stacks.append((self._stacks[stack], weight_ns / 1000))
                elif tag == layout.TAG_STACK:
                    _, stack, count = layout.STACK.unpack_from(data, at)
                    at += layout.STACK.size
                    ids = struct.unpack_from(f"={count}I", data, at)
                    at += 4 * count
                    self._stacks[stack] = tuple(self._frames[number] for number in ids)
                elif tag == layout.TAG_FRAME:
                    at = self._parse_frame(data, at)
                elif tag == layout.TAG_RESET:
                    at += 1
                    self._frames.clear()
                    self._stacks.clear()
                    self.looks.reset()
                elif tag in (layout.TAG_LOOK, layout.TAG_LOOK_AGAIN):
                    _, number, size = layout.LOOK.unpack_from(data, at)
                    at += layout.LOOK.size
                    self.looks.heard(
                        number, data[at : at + size], again=tag == layout.TAG_LOOK_AGAIN
                    )
                    at += size
                elif tag == layout.TAG_COUNTED:
                    _, number, index, makes_steps = layout.COUNTED.unpack_from(data, at)
                    at += layout.COUNTED.size
                    self.looks.heard_of_call(number, index, bool(makes_steps))
                else:
                    break  # As above: a damaged ring. What was read so far stands.
        except (KeyError, struct.error):
            pass  # Likewise.
        return stacks

    def _parse_frame(self, data: bytes, at: int) -> int:
        number: int
        file_size: int
        function_size: int
        _, number, line, file_size, function_size = layout.FRAME.unpack_from(data, at)
        at += layout.FRAME.size
        file = data[at : at + file_size]
        at += file_size
        function = data[at : at + function_size]
        frame = self._frames[number] = Frame(readable(file), readable(function), line)
        self.looks.named(number, frame)
        return at + function_size


def _without_secrets(counter: str) -> str:
    """The name of a counter; those of phases are strings of the program's."""
    phase = phase_of_counter(counter)
    if phase is None:
        return counter
    name, what = phase
    return counter_of_phase(hide_words(name), what)


def readable(name: bytes) -> str:
    """``name`` as text that every format can hold: other bytes than UTF-8 become escapes."""
    return name.decode("utf-8", "backslashreplace")


def _not_a_mailbox() -> RlprofError:
    return RlprofError(
        "an agent sent something that is not its mailbox",
        slug="agent-protocol",
        hint="the process is sampled without its agent; please report this",
    )
