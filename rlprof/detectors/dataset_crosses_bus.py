"""Much data copied to the device at each step, while the device waits for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.intervals import CoveredTime, union
from rlprof.device.places import per_step
from rlprof.device.timeline import without_by_device
from rlprof.device.transfers import find_transfers, uploads
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Range
from rlprof.model.trace import Row
from rlprof.units import count, duration, percent, size

MIN_SHARE: Final = 0.05
"""Least share of the wall time, spent in copies to the device, by it or by the host."""

MIN_BYTES_PER_STEP: Final = 1 << 20
FEWEST_STEPS: Final = 2
"""A single step may be the one that brings what all others use."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    rows = _beside_rollouts(view)
    copies = find_transfers(replace(view.trace, copies=rows))
    moved = sum(it.bytes for it in copies)
    on_host = sum(it.host_us for it in copies)
    on_device = sum(it.device_us for it in copies)
    if (
        max(on_host, on_device) < MIN_SHARE * view.wall.length
        or view.step_count < FEWEST_STEPS
        or per_step(moved, view) < MIN_BYTES_PER_STEP
    ):
        return
    alone = without_by_device(rows, view.trace.kernels)
    number = sum(it.count for it in copies)
    aside = ", observations left out" if view.round_trips else ""
    yield DeviceFinding(
        title=f"{size(per_step(moved, view))} are copied to the GPU at each step",
        saved_us=Range(0.0, alone),
        evidence=(
            f"{count(number)} copies, {size(moved)}{aside}: {duration(on_device)} on the GPU, "
            f"{duration(on_host)} on the host",
            f"for {duration(alone)} of it, {percent(alone / on_device if on_device else 0.0)}, no kernel runs: "
            + ("copies and kernels never overlap" if alone > 0.9 * on_device else "they overlap"),
            "whether the same data comes again the trace does not show",
        ),
        fix="If it does (a data set, replay, rollouts of several epochs), keep it on the GPU, where it takes "
        "less than half of the memory. Data that is new at each step: images as uint8, converted there; the "
        "next batch copied on a stream of its own, from pinned memory, while this one is learned from.",
        causes=(),
    )


def _beside_rollouts(view: TraceView) -> Sequence[Row]:
    """The copies to the device, without those of observations, which are new each time."""
    asking = CoveredTime(union(trip.asking for trip in view.round_trips))
    observed = {
        call.args.correlation
        for call in view.trace.calls
        if call.args.correlation and asking.inside(call.ts, call.end)
    }
    return [it for it in uploads(view.trace) if it.args.correlation not in observed]


DETECTOR: Final = Detector(
    id="dataset-crosses-bus",
    name="data copied to the GPU at every step",
    in_trace=InTrace(detect),
)
