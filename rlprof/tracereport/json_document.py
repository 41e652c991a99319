"""A trace as JSON: its keys, in order, and their values. ``trace.schema.json`` is made from these.

Within a version keys are only added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Struct

from rlprof.device.timeline import DeviceTimeline
from rlprof.device.view import TraceView
from rlprof.documents.json import (
    Note,
    Number,
    document_as_text,
    filled,
    means,
    seconds,
)
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence
from rlprof.pricing.traces import TraceFindings
from rlprof.renderers.json_report.document import Range


class Device(Struct, frozen=True):
    id: int
    name: str
    wall_s: Number
    busy_s: Annotated[Number, means("Union of its kernels, copies and memsets.")]
    idle_share: Number
    span_s: Annotated[Number, means("From its first row to its last.")]
    kernels: int
    short_kernel_share: Annotated[Number, means("Under 10 µs.")]
    streams: int


class BlockingSite(Struct, frozen=True):
    file: str
    line: Annotated[int, means("Of the function's `def`: the profiler records no other.")]
    function: str
    op: str
    call: str
    count: int
    wait_s: Number
    recoverable_s: Annotated[Number, means("What could be gained.")]


class BlockingCalls(Struct, frozen=True):
    count: int
    wait_s: Number
    recoverable_s: Number
    sites: Sequence[BlockingSite]


class Copies(Struct, frozen=True):
    direction: Annotated[str, means("As torch names it, such as `HtoD`.")]
    memory: str
    count: int
    bytes: int
    host_s: Number
    device_s: Number


class Kernels(Struct, frozen=True):
    count: int
    launches: int
    lost_launches: int
    median_us: Number
    short_share: Number
    median_launch_delay_us: Number
    families: Annotated[
        Mapping[str, Number],
        means("Part of the kernels' time by kind, told from their names; one may be of several."),
    ]


class Optimizer(Struct, frozen=True):
    name: str
    kind: str
    steps: int
    host_s: Number
    launches_per_step: Number


class Compile(Struct, frozen=True):
    compiling_s: Number
    regions: int
    regions_per_call: Number
    recompiled: int


class Place(Struct, frozen=True):
    file: str
    line: Annotated[int, means("Of the function's `def`: the profiler records no other.")]
    function: str
    op: str
    count: int
    time_s: Number


class Finding(Struct, frozen=True):
    id: str
    rank: int
    listed: Annotated[bool, means("Whether it is worth fixing.")]
    title: str
    confidence: Confidence
    saved_share: Range
    saved_s: Range
    locations: Sequence[Place]
    evidence: Sequence[str]
    fix: str


class TraceDocument(Struct, frozen=True):
    """Document of `rlprof trace --format json`. Durations are in seconds unless a name says otherwise, shares run from 0 to 1. Within a version keys are only ever added: ignore those you do not know. A value that could not be measured is null."""

    format: Literal["rlprof-trace"]
    version: Literal[1]
    """1: the first."""
    rlprof: str
    wall_s: Annotated[Number, means("From the first row of the host or a device to the last.")]
    steps: int
    devices: Sequence[Device]
    blocking_calls: BlockingCalls
    copies: Sequence[Copies]
    idle_causes: Annotated[
        Mapping[str, Number], means("Seconds by cause, of the device that is idle longest for it.")
    ]
    kernels: Kernels
    optimizer: Annotated[Optimizer | None, means("Null where none was seen.")]
    compile: Compile
    findings: Sequence[Finding]
    notes: Sequence[Note]


def trace_as_json(view: TraceView, findings: TraceFindings) -> str:
    every = (*findings.listed, *findings.also_seen)
    return document_as_text(
        TraceDocument,
        view,
        wall_s=seconds(view.wall.length),
        steps=view.step_count,
        devices=[_device(device, view) for device in view.devices],
        blocking_calls=_blocking(view),
        copies=view.transfers,
        idle_causes={cause.value: seconds(view.idle_us(cause)) for cause in IdleCause},
        kernels=filled(
            Kernels,
            view.kernels,
            median_launch_delay_us=view.kernels.median_delay_us,
            families=dict(view.kernels.families),
        ),
        compile=view.compiling,
        findings=[
            _finding(finding, rank, view, is_listed=rank <= len(findings.listed))
            for rank, finding in enumerate(every, start=1)
        ],
        notes=(*findings.failures.values(), *view.notes),
    )


def _device(device: DeviceTimeline, view: TraceView) -> Device:
    wall = view.wall.length
    return filled(
        Device,
        device,
        wall_s=seconds(wall),
        idle_share=1 - device.busy_us / wall if wall else 0.0,
        span_s=seconds(device.span.length),
        short_kernel_share=device.short_kernels / max(1, device.kernels),
    )


def _blocking(view: TraceView) -> BlockingCalls:
    return filled(
        BlockingCalls,
        view.blocking,
        count=len(view.blocking.calls),
        sites=[
            filled(
                BlockingSite,
                wait.site,
                op=wait.site.outer_op,
                call=wait.calls[0].name,
                count=len(wait.calls),
                wait_s=seconds(wait.wait_us),
                recoverable_s=seconds(wait.recoverable_us),
            )
            for wait in view.waits
        ],
    )


def _finding(finding: DeviceFinding, rank: int, view: TraceView, *, is_listed: bool) -> Finding:
    wall = view.wall.length
    low, high = finding.saved_us
    return filled(
        Finding,
        finding,
        id=finding.detector,
        rank=rank,
        listed=is_listed,
        saved_share=Range(low / wall, high / wall),
        saved_s=Range(seconds(low), seconds(high)),
        locations=finding.places,
    )
