"""A trace analysed: the input of every finding about it and of ``rlprof trace``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Final

from rlprof.device.blocking import SYNCS, Blocking, find_blocking, is_launch
from rlprof.device.host import CallSite, call_sites, outermost
from rlprof.device.idle import Idle, find_idle
from rlprof.device.intervals import Span, TimeSpan, common, total, union, without
from rlprof.device.kernels import KernelFacts, describe_kernels
from rlprof.device.round_trips import RoundTrip, find_round_trips
from rlprof.device.steps import (
    CompileFacts,
    OptimizerFacts,
    describe_compiling,
    describe_optimizer,
    profiler_steps,
)
from rlprof.device.timeline import DeviceTimeline, find_devices, wall
from rlprof.device.transfers import Transfer, find_transfers
from rlprof.model.device import IdleCause
from rlprof.model.recording import Note
from rlprof.model.trace import Row, Trace
from rlprof.units import count, percent

MOST_LOST: Final = 0.5
"""Part of the launches without a row of the device from which on nothing is said of the device."""

FEWEST_STEPS: Final = 3

OUTLIER: Final = 10.0
"""Times the median: a step that long, or time that far outside of the steps, is not of the training."""


UNTYPICAL: Final = frozenset({"few-steps", "untypical-step", "mostly-start-up", "no-ops"})
"""Notes after which nobody knows whether all of the training is like the trace."""

_QUEUE_FULL_US: Final = 50.0
"""Length of a launch from which on the host waits in it, if the device works meanwhile."""


@dataclass(frozen=True, slots=True)
class SiteWait:
    """The blocking calls of one place in the program. Times in µs."""

    site: CallSite
    calls: tuple[Row, ...]
    wait_us: float
    recoverable_us: float
    """Its part of the bound of each gap, by its part of the wait."""
    idle_us: float
    """Part of the wait in which no device had anything to do."""


@dataclass(frozen=True)
class TraceView:
    """View of what a trace says, all times in µs."""

    trace: Trace
    wall: TimeSpan
    devices: tuple[DeviceTimeline, ...]
    blocking: Blocking
    idle: tuple[Idle, ...]
    transfers: tuple[Transfer, ...]
    kernels: KernelFacts
    optimizer: OptimizerFacts | None
    compiling: CompileFacts
    steps: tuple[TimeSpan, ...]
    notes: tuple[Note, ...]

    @property
    def step_count(self) -> int:
        """Steps of the profiler's schedule, else of the optimizer; 0 when neither is there."""
        if self.steps:
            return len(self.steps)
        return self.optimizer.steps if self.optimizer else 0

    @property
    def busy_share(self) -> float:
        """Busy share of the busiest device, of the wall time."""
        busy = self.busiest.busy_us if self.busiest else 0.0
        return busy / self.wall.length if self.wall.length else 0.0

    @property
    def has_device(self) -> bool:
        """True if the rows of the device can be trusted to be there."""
        lost = self.kernels.lost_launches > MOST_LOST * max(1, self.kernels.launches)
        return bool(self.devices) and not lost

    @property
    def is_typical(self) -> bool:
        """True if what is true of the trace can be expected of the training."""
        return not any(note.slug in UNTYPICAL for note in self.notes)

    @property
    def busiest(self) -> DeviceTimeline | None:
        return max(self.devices, key=lambda device: device.busy_us, default=None)

    def idle_in(self, spans: Iterable[Span]) -> float:
        """Time of ``spans`` in which no device had anything to do."""
        merged = union(spans)
        return min((total(without(merged, device.busy)) for device in self.devices), default=0.0)

    @cached_property
    def host_waits_us(self) -> float:
        """Time in which the host does nothing but wait for the busiest device, which works.

        That is what a quicker device can save: for the rest of the time the host is busy itself.
        """
        waits = [
            (call.ts, call.end)
            for call in self.trace.calls
            if call.name in SYNCS or (call.dur > _QUEUE_FULL_US and is_launch(call))
        ]
        waits += [(call.ts, call.end) for call in self.blocking.calls]
        return total(common(union(waits), self.busiest.busy)) if self.busiest else 0.0

    def idle_us(self, cause: IdleCause) -> float:
        """Return the idle time of the device that is idle for it longest: what goes on there holds up the program."""
        return self._idle_us[cause]

    @cached_property
    def _idle_us(self) -> Mapping[IdleCause, float]:
        return {
            cause: max((idle.us(cause) for idle in self.idle), default=0.0) for cause in IdleCause
        }

    @cached_property
    def outermost_ops(self) -> tuple[Row, ...]:
        """Those that the program called itself."""
        return tuple(outermost(self.trace.ops))

    @cached_property
    def round_trips(self) -> tuple[RoundTrip, ...]:
        return find_round_trips(self.trace)

    @cached_property
    def waits(self) -> tuple[SiteWait, ...]:
        """Blocking calls by place, the longest waits first."""
        return tuple(sorted(_waits(self), key=lambda wait: -wait.wait_us))


def view_trace(trace: Trace) -> TraceView:
    span = wall(trace)
    devices = find_devices(trace)
    launches = [call for call in trace.calls if is_launch(call)]
    blocking = find_blocking(trace, devices)
    view = TraceView(
        trace=trace,
        wall=span,
        devices=devices,
        blocking=blocking,
        idle=find_idle(trace, devices, blocking, span),
        transfers=find_transfers(trace),
        kernels=describe_kernels(
            trace, {launch.args.correlation: launch.end for launch in launches}
        ),
        optimizer=describe_optimizer(trace, launches),
        compiling=describe_compiling(trace),
        steps=profiler_steps(trace),
        notes=(),
    )
    return replace(view, notes=tuple(_notes(view)))


def _waits(view: TraceView) -> Iterator[SiteWait]:
    bounds: dict[int, float] = {}
    for group in view.blocking.groups:
        for call in group.calls:
            part = call.dur / group.wait_us if group.wait_us else 0.0
            bounds[id(call)] = group.recoverable_us * part
    by_site: dict[CallSite, list[Row]] = defaultdict(list)
    calls = view.blocking.calls
    for call, site in zip(calls, call_sites(view.trace, calls), strict=True):
        by_site[site].append(call)
    for site, own in by_site.items():
        yield SiteWait(
            site=site,
            calls=tuple(own),
            wait_us=sum(call.dur for call in own),
            recoverable_us=sum(bounds[id(call)] for call in own),
            idle_us=sum(_idle_within(call, view.devices) for call in own),
        )


def _idle_within(call: Row, devices: Sequence[DeviceTimeline]) -> float:
    return min(
        (call.dur - device.measure.inside(call.ts, call.end) for device in devices), default=0.0
    )


def _notes(view: TraceView) -> Iterator[Note]:
    """Return what keeps the trace from saying more, or from being typical."""
    trace = view.trace
    for damage in trace.damage:
        yield Note("warning", "trace-damaged", f"The file was damaged: {damage}.")
    if not view.devices:
        why = (
            f"{count(view.kernels.launches)} kernels were launched, and none has a row: the profiler was "
            "not let at the device, or another one was"
            if view.kernels.launches
            else "it is of the CPU alone"
        )
        yield Note("warning", "no-device-rows", f"The trace has no rows of a GPU: {why}.")
    elif not view.has_device:
        yield Note(
            "warning",
            "device-rows-lost",
            f"{count(view.kernels.lost_launches)} of {count(view.kernels.launches)} launches have no row of "
            "the GPU: nothing is said of it.",
        )
    if not trace.ops and view.devices:
        yield Note(
            "warning", "no-ops", "The trace has no ops of the host, so causes are not known."
        )
    yield from _untypical(view)
    if trace.header.with_stack and view.devices:
        yield Note(
            "info",
            "stacks-slow-the-host",
            "It was recorded with stacks, which about doubles the host's time: idle shares are upper bounds.",
        )


def _untypical(view: TraceView) -> Iterator[Note]:
    if 0 < view.step_count < FEWEST_STEPS:
        yield Note(
            "info",
            "few-steps",
            f"It holds {count(view.step_count)} step{'s' if view.step_count > 1 else ''}: too few to tell a "
            "typical one.",
        )
    lengths = [step.length for step in view.steps]
    if len(lengths) >= FEWEST_STEPS:
        usual = median(lengths)
        longest = max(lengths)
        if longest > OUTLIER * usual:
            yield Note(
                "warning",
                "untypical-step",
                f"One step took {longest / usual:.0f} times as long as the others: a warm-up, it seems.",
            )
    span = max((device.span.length for device in view.devices), default=0.0)
    busy = max((device.busy_us for device in view.devices), default=0.0)
    if span and busy < 0.02 * view.wall.length and view.wall.length > OUTLIER * 1e5:
        yield Note(
            "warning",
            "mostly-start-up",
            f"The GPU works for {percent(busy / view.wall.length)} of the time: the trace is of a start-up.",
        )
