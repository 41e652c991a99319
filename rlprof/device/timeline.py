"""The spans in which each device worked: the union of its kernels, copies and memsets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from rlprof.device.intervals import CoveredTime, Span, TimeSpan, total, union, without
from rlprof.model.calibration import calibrated
from rlprof.model.trace import Row, Trace

SHORT_KERNEL_US: Final = calibrated(
    10.0,
    unit="µs",
    source="traces of 24 programs: medians of 1.3 to 18, most of them of 4 to 9, for a launch on the host",
    date="2026-11-23",
)
"""A launch takes about as long."""


@dataclass(frozen=True)
class DeviceTimeline:
    """One device. Times in µs, those of the trace."""

    id: int
    name: str
    busy: tuple[Span, ...]
    """Disjoint, in order."""
    kernels: int
    short_kernels: int
    streams: int

    @cached_property
    def measure(self) -> CoveredTime:
        """The time that it works within any span."""
        return CoveredTime(self.busy)

    @cached_property
    def busy_us(self) -> float:
        return total(self.busy)

    @property
    def span(self) -> TimeSpan:
        """From its first row to its last."""
        return TimeSpan(self.busy[0][0], self.busy[-1][1])


def wall(trace: Trace) -> TimeSpan:
    """From the first to the last row of the host or a device, Python frames and regions included."""
    host = (trace.ops, trace.annotations, trace.calls, trace.python)
    kinds = (*host, trace.kernels, trace.copies, trace.memsets)
    starts = [rows[0].ts for rows in kinds if rows]
    if not starts:
        return TimeSpan(0.0, 0.0)
    return TimeSpan(
        min(starts), max(max([row.ts + row.dur for row in rows]) for rows in kinds if rows)
    )


def device_of(row: Row) -> int:
    """Return the device of a device's row; the process column is the device where the arguments do not say."""
    if row.args.device >= 0:
        return row.args.device
    return row.pid if isinstance(row.pid, int) else -1


def without_by_device(spent: Iterable[Row], beside: Iterable[Row]) -> float:
    """Time in rows of ``spent`` and in none ``beside`` them, of the device with most of it."""
    own, others = _spans(spent), _spans(beside)
    return max(
        (total(without(union(spans), union(others[device]))) for device, spans in own.items()),
        default=0.0,
    )


def _spans(rows: Iterable[Row]) -> dict[int, list[Span]]:
    found: dict[int, list[Span]] = defaultdict(list)
    for row in rows:
        found[device_of(row)].append((row.ts, row.end))
    return found


def find_devices(trace: Trace) -> tuple[DeviceTimeline, ...]:
    """The devices that did something, by number."""
    rows: Mapping[int, list[Row]] = defaultdict(list)
    kernels: Mapping[int, list[float]] = defaultdict(list)
    for kernel in trace.kernels:
        kernels[device_of(kernel)].append(kernel.dur)
    for kind in (trace.kernels, trace.copies, trace.memsets):
        for row in kind:
            rows[device_of(row)].append(row)
    names = {device.id: device.name for device in trace.header.devices}
    return tuple(
        _timeline(number, names.get(number, ""), own, kernels[number])
        for number, own in sorted(rows.items())
    )


def _timeline(
    number: int, name: str, rows: Sequence[Row], kernel_us: Sequence[float]
) -> DeviceTimeline:
    return DeviceTimeline(
        id=number,
        name=name,
        busy=tuple(union([(row.ts, row.ts + row.dur) for row in rows])),
        kernels=len(kernel_us),
        short_kernels=sum(us < SHORT_KERNEL_US for us in kernel_us),
        streams=len({row.args.stream for row in rows}),
    )
