"""Tell what a trace says can be saved on a device."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from rlprof.model.finding import Confidence, Range


class IdleCause(Enum):
    """In the order in which a moment is claimed."""

    SYNC = "sync"
    """The host waited for a result; then it had to launch before there was work again."""
    BLOCKING_COPY = "blocking_copy"
    ALLOCATOR = "allocator"
    DATA = "data"
    """A data loader, an environment, or other Python outside of torch."""
    COMPILE = "compile"
    LAUNCH_BOUND = "launch_bound"
    """The host was inside of torch, launching."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TracePlace:
    """The place in the program at which something was done, as far as a trace tells."""

    file: str
    line: int
    """Line of the function's ``def``: the profiler records no other."""
    function: str
    op: str
    """The op that the program called; empty when it called none."""
    count: int
    time_us: float


@dataclass(frozen=True, slots=True)
class DeviceFinding:
    """One cause of lost time on a device.

    What makes the host quicker saves no more than the device was idle for; what makes the device
    quicker, no more than the host waits for a device that works.
    """

    detector: str = field(default="", kw_only=True)
    """As of a ``Finding``."""
    title: str
    saved_us: Range
    """Part of the wall time of the trace (µs)."""
    evidence: tuple[str, ...]
    fix: str
    confidence: Confidence = Confidence.BOUNDED
    places: tuple[TracePlace, ...] = ()
    """The heaviest first."""
    causes: tuple[IdleCause, ...] = tuple(IdleCause)
    """Causes of the idle time that goes: no moment of it is sold twice. Empty for work of the device itself."""
    is_of_reads: bool = False
    """True if it is of reads of tensors, which the agent counts: those tell its places to the line."""
    waits_for_ranks: bool = False
    """True if it is a wait for other ranks of the training: a window of torch's profiler there makes some, too."""

    @property
    def is_host_side(self) -> bool:
        """True if it makes the host quicker: worth nothing while the device is busy anyway."""
        return bool(self.causes)
