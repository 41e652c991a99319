"""Modes for finding errors that are still on: blocking launches, autograd's anomaly mode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.blocking import is_launch
from rlprof.device.host import HostThreads
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Confidence, Range
from rlprof.units import count, duration

LONG_KERNEL_US: Final = 20.0
"""Length of a kernel from which on it cannot end before its launch does, unless the launch waits."""

FEWEST_LAUNCHES: Final = 10
"""Fewest launches of such kernels, to tell a mode from chance."""

BLOCKING: Final = 0.9
"""Part of them that have ended before their launch has. None has in any ordinary trace seen."""

LAUNCH_US: Final = calibrated(
    5.0,
    unit="µs",
    source="traces of 24 programs: medians of 1.3 to 18, most of them of 4 to 9",
    date="2026-11-23",
)
"""Time of a launch that does not wait."""

FEWEST_CHECKS: Final = 10
CHECKED: Final = 0.5
"""Part of the backward's ops that look for NaN, in anomaly mode each."""

_BACKWARD: Final = "autograd::engine::evaluate_function: "


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    yield from _blocking_launches(view)
    yield from _anomaly_mode(view)


def _blocking_launches(view: TraceView) -> Iterator[DeviceFinding]:
    long = {it.args.correlation: it for it in view.trace.kernels if it.dur >= LONG_KERNEL_US}
    if len(long) < FEWEST_LAUNCHES:
        return
    launches = [it for it in view.trace.calls if is_launch(it)]
    theirs = [it for it in launches if it.args.correlation in long]
    waited = sum(long[it.args.correlation].end <= it.end for it in theirs)
    if len(theirs) < FEWEST_LAUNCHES or waited < BLOCKING * len(theirs):
        return
    held = sum(max(0.0, it.dur - LAUNCH_US) for it in launches)
    yield DeviceFinding(
        title="every launch waits until its kernel has ended",
        saved_us=Range(0.0, min(held, view.wall.length * (1 - view.busy_share))),
        evidence=(
            f"{count(waited)} of {count(len(theirs))} launches last longer than their kernels; the host is held in "
            f"launches for {duration(held)}",
            "other findings describe a program without it: take it out first",
        ),
        fix="Unset CUDA_LAUNCH_BLOCKING (AMD: AMD_SERIALIZE_KERNEL, HIP_LAUNCH_BLOCKING).",
    )


def _anomaly_mode(view: TraceView) -> Iterator[DeviceFinding]:
    backward = sum(it.name.startswith(_BACKWARD) for it in view.trace.ops)
    checks = [it for it in view.trace.ops if it.name == "aten::isnan"]
    least = max(FEWEST_CHECKS, CHECKED * backward)
    if not backward or len(checks) < least:
        return
    around = HostThreads(view.trace.ops).around(checks)
    inside = sum(ops[0].name.startswith(_BACKWARD) for ops in around.values() if ops)
    if inside < least:
        return
    yield DeviceFinding(
        title="autograd looks for NaN after each op of the backward pass",
        saved_us=Range(0.0, 0.0),
        evidence=(
            f"{count(inside)} checks for {count(backward)} ops of the backward pass; each is read from the "
            "GPU, and each op of the forward pass records its stack",
        ),
        fix="Turn torch.autograd.set_detect_anomaly(True) off when the NaN is found.",
        confidence=Confidence.SUSPECTED,
    )


DETECTOR: Final = Detector(
    id="debug-modes",
    name="modes for finding errors, left on",
    in_trace=InTrace(detect),
)
