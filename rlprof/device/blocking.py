"""Calls in which the host waits for a device, and how much of that a device was idle for.

A wait is no saving: while the host waits, the device mostly works on what was asked of it before.
What could be gained is bounded by the time that the device then has nothing to do until the next
kernel comes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

from rlprof.device.intervals import CoveredTime, TimeSpan, gaps
from rlprof.device.timeline import DeviceTimeline
from rlprof.model.trace import Row, Trace

DEVICE_SYNCS: Final = frozenset({"cudaDeviceSynchronize", "hipDeviceSynchronize"})

SYNCS: Final = DEVICE_SYNCS | {
    "cudaStreamSynchronize", "cudaEventSynchronize", "cudaCtxSynchronize", "cuCtxSynchronize",
    "cuStreamSynchronize", "cuEventSynchronize", "hipStreamSynchronize", "hipEventSynchronize",
    "hipMemcpyWithStream", "cudaMemcpy", "hipMemcpy",
}  # fmt: skip

_COPIES: Final = frozenset({"cudaMemcpyAsync", "cudaMemcpy", "hipMemcpy", "hipMemcpyWithStream"})

_ASYNC_COPY: Final = "cudaMemcpyAsync"
"""Blocks all the same where one side is pageable memory."""

_SAME_COPY_US: Final = 5.0
"""Between a copy and its own wait; an op in between takes longer."""

_TO_DEVICE: Final = "1"
"""``kind`` of a ROCm copy to the device."""

_LAUNCHES: Final = ("LaunchKernel", "LaunchCooperativeKernel", "GraphLaunch", "ModuleLaunch")


@dataclass(frozen=True, slots=True)
class BlockingGroup:
    """Blocking calls after which the same kernel is the next: they share one gap of the device."""

    calls: tuple[Row, ...]
    after: TimeSpan
    """From the end of the first call to the next kernel; empty when there is none."""
    recoverable_us: float
    """The least of their waits and of the time that every device is idle meanwhile."""

    @property
    def wait_us(self) -> float:
        return sum(call.dur for call in self.calls)


@dataclass(frozen=True, slots=True)
class Blocking:
    """All calls of a trace that block. Times in µs."""

    groups: tuple[BlockingGroup, ...] = ()
    copies: frozenset[int] = frozenset()
    """``id`` of the calls that copy to a device: their time is the copy's, not the queue's."""

    @property
    def calls(self) -> tuple[Row, ...]:
        return tuple(call for group in self.groups for call in group.calls)

    @property
    def wait_us(self) -> float:
        return sum(group.wait_us for group in self.groups)

    @property
    def recoverable_us(self) -> float:
        """Upper bound of what the removal of all of them gives back."""
        return sum(group.recoverable_us for group in self.groups)

    def is_upload(self, call: Row) -> bool:
        return id(call) in self.copies


def find_blocking(trace: Trace, devices: Sequence[DeviceTimeline]) -> Blocking:
    """The profiler's own closing synchronize, after the last launch, is left out."""
    copies = {copy.args.correlation: copy for copy in trace.copies if copy.args.correlation}
    last_launch = max((call.ts for call in trace.calls if is_launch(call)), default=-1.0)
    rows = [
        call
        for call in trace.calls
        if (call.name in SYNCS and not (call.name in DEVICE_SYNCS and call.ts > last_launch))
        or (call.name == _ASYNC_COPY and _is_pageable(copies.get(call.args.correlation)))
    ]
    starts = [kernel.ts for kernel in trace.kernels]
    by_kernel: dict[float | None, list[Row]] = defaultdict(list)
    for row in rows:
        index = bisect_left(starts, row.end)
        by_kernel[starts[index] if index < len(starts) else None].append(row)
    idle = [CoveredTime(gaps(device.busy, device.span)) for device in devices]
    uploads = {id(row) for row in rows if _uploads(row, copies.get(row.args.correlation))}
    # A wait after an upload is of the upload: pageable copies are two calls.
    for before, row in pairwise(rows):
        same = before.thread == row.thread and row.ts - before.end < _SAME_COPY_US
        if same and id(before) in uploads and row.name not in _COPIES:
            uploads.add(id(row))
    return Blocking(
        groups=tuple(_group(calls, kernel, idle) for kernel, calls in by_kernel.items()),
        copies=frozenset(uploads),
    )


def _group(
    calls: Sequence[Row], kernel: float | None, idle: Sequence[CoveredTime]
) -> BlockingGroup:
    first = min(call.end for call in calls)
    after = TimeSpan(first, first if kernel is None else kernel)
    idle_us = min((device_idle.inside(*after) for device_idle in idle), default=0.0)
    waited = sum(call.dur for call in calls)
    return BlockingGroup(tuple(calls), after, min(waited, idle_us))


def is_launch(call: Row) -> bool:
    return _is_launching(call.name)


@cache
def _is_launching(name: str) -> bool:
    """The calls of a trace are a few, made some hundred thousand times."""
    return any(part in name for part in _LAUNCHES)


def _is_pageable(copy: Row | None) -> bool:
    return copy is not None and "Pageable" in copy.name


def _uploads(call: Row, copy: Row | None) -> bool:
    if call.name not in _COPIES:
        return False
    if call.args.kind:
        return str(call.args.kind) == _TO_DEVICE
    return copy is not None and "HtoD" in copy.name
