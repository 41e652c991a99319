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

RECOVERED: Final = calibrated(
    Range(0.5, 1.0),
    unit="part of the idle time",
    source="an update of 89 kernels on an H200, captured whole: 0.91 of its time saved, all but what the graph itself takes; by reason: half "
    "where parts of it cannot be captured",
    date="2026-11-27",
)
"""Part of such idle time that captured code gets back."""
GRAPH_GAP_US: Final = calibrated(
    1.2,
    unit="µs",
    source="the same update as a CUDA graph: 221 µs, of which its kernels take 107",
    date="2026-11-27",
)
"""Between two kernels of a CUDA graph."""


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
    # Python between two ops is not run when a graph is: a graph of the whole update saves that, too.
    captured = max(0.0, launching + view.idle_us(IdleCause.OTHER) - GRAPH_GAP_US * facts.count)
    yield DeviceFinding(
        title="the GPU waits for the host to launch short kernels",
        saved_us=Range(RECOVERED.low * min(launching, captured), RECOVERED.high * captured),
        evidence=(
            f"{count(facts.count)} kernels, {percent(facts.short_share)} of them shorter than 10 µs; half "
            f"start within {duration(facts.median_delay_us)} of their launch",
            f"for {duration(launching)}, {percent(launching / view.wall.length)} of the trace, the GPU is "
            "idle while the host is inside of torch",
        ),
        fix="Capture the whole update, from the networks to the optimizer's step, as one CUDA graph (torch.cuda.graph, capturable=True) "
        "where shapes are fixed; larger batches or more environments; networks this small may be faster on the CPU. Compiling "
        "or fusing a part of it may save nothing.",
        causes=(IdleCause.LAUNCH_BOUND, IdleCause.OTHER),
    )


DETECTOR: Final = Detector(
    id="launch-bound",
    name="a GPU that waits for launches",
    in_trace=InTrace(detect),
)
