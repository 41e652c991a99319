"""Causes of a device's having nothing to do: each moment of it has one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rlprof.device.blocking import Blocking, BlockingGroup
from rlprof.device.intervals import (
    Span,
    TimeSpan,
    common,
    gaps,
    total,
    union,
    within,
    without,
)
from rlprof.device.timeline import DeviceTimeline
from rlprof.model.device import IdleCause
from rlprof.model.trace import Trace
from rlprof.tracefile.regions import BACKWARD, LOADER, OPTIMIZER

LONG_GAP_US: Final = 1000.0
"""Time outside of any op from which on the device waits for the program itself: its environment, its
data, its Python. Shorter ones lie between the ops of any program."""

ALLOCATOR: Final = frozenset(
    {"cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaFreeHost", "cudaHostRegister", "cudaMallocAsync",
     "cudaFreeAsync", "cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemRelease", "cuMemSetAccess",
     "hipMalloc", "hipFree", "hipHostMalloc", "hipHostFree", "hipExtMallocWithFlags"}
)  # fmt: skip

COMPILING: Final = "(dynamo_timed)"


@dataclass(frozen=True, slots=True)
class Idle:
    """The idle time of one device, in µs."""

    device: int
    by_cause: Mapping[IdleCause, tuple[Span, ...]]
    """Disjoint, over all causes; together the whole idle time."""

    def us(self, cause: IdleCause) -> float:
        return total(self.by_cause.get(cause, ()))


def find_idle(
    trace: Trace, devices: Sequence[DeviceTimeline], blocking: Blocking, wall: TimeSpan
) -> tuple[Idle, ...]:
    in_torch = union(
        [
            *((row.ts, row.ts + row.dur) for row in (*trace.ops, *trace.calls)),
            *_in_optimizers(trace),
        ]
    )
    claims: dict[IdleCause, list[Span]] = {
        IdleCause.ALLOCATOR: union(
            (call.ts, call.end) for call in trace.calls if call.name in ALLOCATOR
        ),
        IdleCause.DATA: union(
            [
                *(
                    (annotation.ts, annotation.end)
                    for annotation in trace.annotations
                    if annotation.name.startswith(LOADER)
                ),
                *(gap for gap in gaps(in_torch, wall) if gap[1] - gap[0] >= LONG_GAP_US),
            ]
        ),
        IdleCause.COMPILE: union(
            (row.ts, row.end)
            for row in (*trace.ops, *trace.annotations)
            if row.name.endswith(COMPILING)
        ),
        IdleCause.LAUNCH_BOUND: in_torch,
        IdleCause.OTHER: [wall],
    }
    return tuple(_idle(device, blocking, claims, wall) for device in devices)


def _in_optimizers(trace: Trace) -> list[Span]:
    """Return the regions of optimizers, but for those that call a closure: the program's forward and backward pass is in them."""
    regions = [
        (annotation.ts, annotation.end)
        for annotation in trace.annotations
        if annotation.name.startswith(OPTIMIZER)
    ]
    passes = union(
        (row.ts, row.end)
        for row in (*trace.ops, *trace.annotations)
        if row.name.startswith((BACKWARD, LOADER))
    )
    return [region for region in regions if next(within(passes, region), None) is None]


def _idle(
    device: DeviceTimeline,
    blocking: Blocking,
    claims: Mapping[IdleCause, list[Span]],
    wall: TimeSpan,
) -> Idle:
    left = gaps(device.busy, wall)
    found: dict[IdleCause, tuple[Span, ...]] = {}
    for cause in IdleCause:
        if cause is IdleCause.SYNC:
            claimed = _after_waits(left, blocking, of_uploads=False)
        elif cause is IdleCause.BLOCKING_COPY:
            claimed = _after_waits(left, blocking, of_uploads=True)
        else:
            claimed = claims[cause]
        taken = common(left, claimed)
        if taken:
            found[cause] = tuple(taken)
            left = without(left, taken)
    return Idle(device.id, found)


def _after_waits(left: Sequence[Span], blocking: Blocking, *, of_uploads: bool) -> list[Span]:
    """Return what of the idle time ``left`` comes after waits, and is no longer than they were."""
    found: list[Span] = []
    for group in blocking.groups:
        if _mostly_uploads(group, blocking) is of_uploads and group.recoverable_us > 0:
            room = group.recoverable_us
            for start, end in within(left, group.after):
                taken = min(room, end - start)
                if taken > 0:
                    found.append((start, start + taken))
                    room -= taken
    return union(found)


def _mostly_uploads(group: BlockingGroup, blocking: Blocking) -> bool:
    uploading = sum(call.dur for call in group.calls if blocking.is_upload(call))
    return 2 * uploading > group.wait_us
