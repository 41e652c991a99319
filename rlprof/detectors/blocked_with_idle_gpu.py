"""Long waits during which the device has nothing to do: for another process, a queue, a first touch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.detectors.gpu_sync import waits_for_others
from rlprof.device.places import places_of
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Confidence, Range
from rlprof.units import duration


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    waits = [wait for wait in view.waits if waits_for_others(wait)]
    if not waits:
        return
    yield DeviceFinding(
        title="the host waits for an idle GPU",
        saved_us=Range(0.0, 0.0),
        evidence=(
            f"{duration(sum(wait.wait_us for wait in waits))} in calls during which the GPU has nothing to do: "
            "the wait is for something that the trace does not show",
        ),
        fix="Look for what is waited for: another process or rank, a queue of requests, memory that is "
        "touched for the first time, or records that the profiler lost.",
        confidence=Confidence.SUSPECTED,
        places=places_of(waits),
    )


DETECTOR: Final = Detector(
    id="blocked-with-idle-gpu",
    name="waits that no work of the GPU explains",
    in_trace=InTrace(detect),
)
