"""``GradScaler`` reads from the device at each step whether a gradient overflowed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.detectors.gpu_sync import waits_for_others
from rlprof.device.host import GRAD_SCALER
from rlprof.device.places import places_of
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Range
from rlprof.units import count, duration


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    waits = [
        wait
        for wait in view.waits
        if wait.site.asked_by == GRAD_SCALER and not waits_for_others(wait)
    ]
    if not waits:
        return
    calls = sum(len(wait.calls) for wait in waits)
    bound = sum(wait.recoverable_us for wait in waits)
    yield DeviceFinding(
        title="GradScaler waits for the GPU before each optimizer step",
        saved_us=Range(0.0, bound),
        evidence=(
            f"{count(calls)} reads of found_inf wait {duration(sum(wait.wait_us for wait in waits))}; the GPU is idle "
            f"after them for {duration(bound)} at most: only that can be gained",
        ),
        fix="bfloat16 needs no GradScaler (Ampere or newer); with float16 a fused optimizer, "
        "Adam(..., fused=True), looks at found_inf on the GPU.",
        causes=(IdleCause.SYNC, IdleCause.BLOCKING_COPY),
        places=places_of(waits),
    )


DETECTOR: Final = Detector(
    id="gradscaler-sync",
    name="GradScaler's read at each step",
    in_trace=InTrace(detect),
)
