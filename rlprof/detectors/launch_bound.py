"""Many short kernels that the device waits for, one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Range
from rlprof.units import count, duration, percent

LEAST_DELAY_US: Final = 5.0
ROCM_LEAST_DELAY_US: Final = calibrated(
    20.0,
    unit="µs",
    source="traces of AMD's devices: 7 and 14",
    date="2026-11-21",
)
"""The same on devices of AMD."""

MIN_IDLE: Final = 0.3
MIN_LAUNCHING: Final = 0.5
"""Part of the idle time in which the host is inside of torch, or in Python between two ops."""
MIN_SHORT: Final = 0.5
"""Part of the kernels that are short."""

RECOVERED: Final = Range(0.3, 0.8)
"""Part of such idle time that compiled or captured code gets back."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    launching = view.idle_us(IdleCause.LAUNCH_BOUND)
    idle = sum(view.idle_us(cause) for cause in IdleCause)
    least = ROCM_LEAST_DELAY_US if view.trace.header.is_rocm else LEAST_DELAY_US
    facts = view.kernels
    if (
        not facts.count
        or facts.median_delay_us >= least
        or idle < MIN_IDLE * view.wall.length
        or launching + view.idle_us(IdleCause.OTHER) < MIN_LAUNCHING * idle
        or facts.short_share < MIN_SHORT
    ):
        return
    yield DeviceFinding(
        title="the GPU waits for the host to launch short kernels",
        saved_us=Range(RECOVERED.low * launching, RECOVERED.high * launching),
        evidence=(
            f"{count(facts.count)} kernels, {percent(facts.short_share)} of them shorter than 10 µs; half "
            f"start within {duration(facts.median_delay_us)} of their launch",
            f"for {duration(launching)}, {percent(launching / view.wall.length)} of the trace, the GPU is "
            "idle while the host is inside of torch",
        ),
        fix='torch.compile(mode="reduce-overhead") or CUDA graphs where shapes are fixed; larger batches or '
        "more environments; a fused optimizer; networks this small may be faster on the CPU.",
        causes=(IdleCause.LAUNCH_BOUND,),
    )


DETECTOR: Final = Detector(
    id="launch-bound",
    name="a GPU that waits for launches",
    in_trace=InTrace(detect),
)
