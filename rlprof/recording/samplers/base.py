"""The contract between a sampler's output format and the fold."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from rlprof.model.recording import Frame


class ClockStack(NamedTuple):
    """A stack as the clock saw it, parsed once per distinct stack."""

    tid: int
    frames: tuple[Frame, ...]
    """Outermost first; empty when the thread had no Python frames."""
    is_gc: bool
    is_torn: bool
    """Some frame was not readable: the stack moved while it was read."""


@dataclass(slots=True)
class ClockTime:
    """Sums that one distinct stack gathered: busy and idle time (µs), its number of ticks, and how much
    the process's resident memory rose and fell (bytes) up to those ticks.
    """

    busy_us: int = 0
    idle_us: int = 0
    ticks: int = 0
    grown_bytes: int = 0
    released_bytes: int = 0

    def add_memory(self, change_bytes: int) -> None:
        if change_bytes > 0:
            self.grown_bytes += change_bytes
        else:
            self.released_bytes -= change_bytes


class StackReader(Protocol):
    """Folds one sampler's output as it arrives."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the output; a record may be cut anywhere."""

    def has_times(self) -> bool:
        """Tell whether there is something to drain."""

    def drain(self) -> dict[Hashable, ClockTime]:
        """The times since the last call, by the raw form of their stack."""

    def finish(self) -> None:
        """The output has ended: book what is whole, count what is not."""

    def parse(self, key: Hashable) -> ClockStack:
        """The stack behind a key that :meth:`drain` returned."""
