"""Calls in which the host waits for a device, and how much of that a device was idle for.

A wait is no saving: while the host waits, the device mostly works on what was asked of it before.
What could be gained is bounded by the time that the device then has nothing to do until the next
kernel comes (facts of the issue: "honest seconds").
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rlprof.analysis.device.intervals import Measure, gaps
from rlprof.analysis.device.timeline import DeviceTimeline
from rlprof.model.trace import Row, Trace

DEVICE_SYNCS: Final = frozenset({"cudaDeviceSynchronize", "hipDeviceSynchronize"})

_SYNCS: Final = DEVICE_SYNCS | {
    "cudaStreamSynchronize", "cudaEventSynchronize", "cudaCtxSynchronize", "cuCtxSynchronize",
    "cuStreamSynchronize", "cuEventSynchronize", "hipStreamSynchronize", "hipEventSynchronize",
    "hipMemcpyWithStream", "cudaMemcpy", "hipMemcpy",
}  # fmt: skip

_ASYNC_COPY: Final = "cudaMemcpyAsync"
"""Blocks all the same where one side is pageable memory."""

_LAUNCHES: Final = ("LaunchKernel", "LaunchCooperativeKernel", "GraphLaunch", "ModuleLaunch")


@dataclass(frozen=True, slots=True)
class BlockingCall:
    """One call that held up the host."""

    row: Row
    next_kernel: float | None
    """When the next kernel began after the call; None when there was none."""


@dataclass(frozen=True, slots=True)
class Blocking:
    """All such calls of a trace. Times in µs."""

    calls: tuple[BlockingCall, ...]
    wait_us: float
    recoverable_us: float
    """Upper bound of what their removal gives back."""


def find_blocking(trace: Trace, devices: Sequence[DeviceTimeline]) -> Blocking:
    """The profiler's own closing synchronize, after the last launch, is left out."""
    pageable = {
        copy.args.correlation
        for copy in trace.copies
        if "Pageable" in copy.name and copy.args.correlation
    }
    last_launch = max((call.ts for call in trace.calls if is_launch(call)), default=-1.0)
    rows = [
        call
        for call in trace.calls
        if (call.name in _SYNCS and not (call.name in DEVICE_SYNCS and call.ts > last_launch))
        or (call.name == _ASYNC_COPY and call.args.correlation in pageable)
    ]
    starts = [kernel.ts for kernel in trace.kernels]
    calls = [BlockingCall(row, _first_from(starts, row.ts + row.dur)) for row in rows]
    return Blocking(
        calls=tuple(calls),
        wait_us=sum(call.row.dur for call in calls),
        recoverable_us=recoverable_us(calls, devices),
    )


def is_launch(call: Row) -> bool:
    return any(part in call.name for part in _LAUNCHES)


def recoverable_us(
    calls: Sequence[BlockingCall], devices: Sequence[DeviceTimeline]
) -> float:
    """Calls before the same kernel share one gap: it is the least of their waits and of the time
    that all devices are idle from the end of the first of them to that kernel.
    """
    idle = [Measure(gaps(device.busy, device.span)) for device in devices]
    groups: dict[float, list[BlockingCall]] = defaultdict(list)
    for call in calls:
        if call.next_kernel is not None:
            groups[call.next_kernel].append(call)
    gained = 0.0
    for kernel, group in groups.items():
        first = min(call.row.ts + call.row.dur for call in group)
        waited = sum(call.row.dur for call in group)
        gained += min(waited, min((it.inside(first, kernel) for it in idle), default=0.0))
    return gained


def _first_from(starts: Sequence[float], at: float) -> float | None:
    index = bisect_left(starts, at)
    return starts[index] if index < len(starts) else None
