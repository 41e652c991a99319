"""An optimizer that launches kernels for each parameter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.analysis.device.steps import OptimizerKind
from rlprof.analysis.device.view import TraceView
from rlprof.device_detectors.base import DeviceDetector
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Range
from rlprof.units import count, duration

MIN_LAUNCHES: Final = 100.0
"""Per step of the optimizer: small networks have few parameters however it is written."""

FUSED_LAUNCHES: Final = 10.0
"""Per step of a foreach or fused one: 1 to 19 were seen."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    optimizer = view.optimizer
    if optimizer is None or optimizer.kind is not OptimizerKind.FOR_LOOP:
        return
    each = optimizer.launches_per_step
    if each < MIN_LAUNCHES:
        return
    freed = optimizer.host_us * (1 - FUSED_LAUNCHES / each)
    yield DeviceFinding(
        detector=DETECTOR.id,
        title=f"{optimizer.name} launches {count(round(each))} kernels per step, for each parameter anew",
        saved_us=Range(0.0, min(freed, view.idle_us(IdleCause.LAUNCH_BOUND))),
        evidence=(
            f"{count(optimizer.steps)} steps hold the host for {duration(optimizer.host_us)}; over all "
            f"parameters at once it takes some {count(FUSED_LAUNCHES)} launches",
        ),
        fix=f"{optimizer.name}(..., fused=True), or foreach=True where there is no fused kernel.",
        confidence=Confidence.BOUNDED,
        causes=(IdleCause.LAUNCH_BOUND,),
    )


DETECTOR: Final = DeviceDetector("optimizer-not-fused", "an optimizer in a Python loop", detect)
