"""What a trace says can be saved on a device."""

from __future__ import annotations

from dataclasses import dataclass

from rlprof.model.finding import Confidence, Range


@dataclass(frozen=True, slots=True)
class TracePlace:
    """Where in the program something was done, as far as a trace tells."""

    file: str
    line: int
    """Of the function's ``def``: the profiler records no other."""
    function: str
    op: str
    """The op that the program called; empty when it called none."""
    count: int
    time_us: float


@dataclass(frozen=True, slots=True)
class DeviceFinding:
    """One cause of lost time on a device. What it saves is never more than the device was idle for."""

    detector: str
    title: str
    saved_us: Range
    """Of the wall time of the trace."""
    evidence: tuple[str, ...]
    fix: str
    confidence: Confidence
    places: tuple[TracePlace, ...] = ()
    """The heaviest first."""
    is_host_side: bool = True
    """Whether it makes the host quicker: worth nothing while the device is busy anyway."""
