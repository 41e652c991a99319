"""Work so small that handing it to a device takes longer than doing it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.blocking import is_launch
from rlprof.device.places import per_step
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Confidence, Range
from rlprof.units import count, duration, percent

FEWEST_STEPS: Final = 3
"""Fewer may be of a start-up."""

MOST_OF_LAUNCHING: Final = calibrated(
    1.5,
    unit="kernel time by the host's time",
    source="traces of H100 and GP100: 0.2 to 1.3 with networks of a few layers, 4 to 40 where a "
    "device is used well",
    date="2026-11-21",
)
"""Kernel time by the time that launching and copying holds the host."""

MOST_BUSY: Final = 0.15
"""Largest busy share of the wall time."""

MOST_KERNEL_US: Final = calibrated(
    150.0,
    unit="µs per step",
    source="traces: 3 for any kernel, however small it is",
    date="2026-11-21",
)
"""Some fifty kernels."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    facts = view.kernels
    each = per_step(facts.total_us, view)
    if (
        not facts.count
        or view.step_count < FEWEST_STEPS
        or view.busy_share > MOST_BUSY
        or each > MOST_KERNEL_US
    ):
        return
    handing = sum(call.dur for call in view.trace.calls if is_launch(call) or "Memcpy" in call.name)
    if facts.total_us > MOST_OF_LAUNCHING * handing:
        return
    yield DeviceFinding(
        title="the work is so small that a CPU may be faster",
        saved_us=Range(0.0, 0.0),
        evidence=(
            f"{duration(each)} of kernels per step, which the host needs {duration(per_step(handing, view))} to "
            f"launch and copy for; the GPU works for {percent(view.busy_share)} of the trace in "
            f"{count(facts.count)} kernels",
        ),
        fix='Try device="cpu", for collecting at least: only a trial tells.',
        confidence=Confidence.SUSPECTED,
    )


DETECTOR: Final = Detector(
    id="cpu-policy-faster",
    name="work too small for a GPU",
    in_trace=InTrace(detect),
)
