"""Device memory asked for and given back while training: each time the device is waited for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.idle import ALLOCATOR
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Range
from rlprof.units import count, duration

MIN_SHARE: Final = 0.02
"""Least share of the wall time."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    # The first step allocates what later ones use again.
    since = view.steps[0].end if len(view.steps) > 1 else view.wall.start
    calls = [call for call in view.trace.calls if call.name in ALLOCATOR and call.ts >= since]
    us = sum(call.dur for call in calls)
    if not view.step_count or us < MIN_SHARE * view.wall.length:
        return
    frees = sum("Free" in call.name or "Release" in call.name for call in calls)
    yield DeviceFinding(
        title="device memory is allocated and freed while it trains",
        saved_us=Range(0.0, min(us, view.idle_us(IdleCause.ALLOCATOR))),
        evidence=(
            f"{count(len(calls))} calls of the driver, {count(frees)} of them to give memory back, take "
            f"{duration(us)}",
        ),
        fix="Take torch.cuda.empty_cache() out of the loop; keep shapes fixed, or set "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; leave room below the device's memory.",
        causes=(IdleCause.ALLOCATOR,),
    )


DETECTOR: Final = Detector(
    id="allocator-churn",
    name="device memory allocated in the loop",
    in_trace=InTrace(detect),
)
