"""``torch.cuda.synchronize()`` and ``event.synchronize()`` in the loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.detectors.gpu_sync import waits_for_others
from rlprof.device.places import per_step, places_of
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Range
from rlprof.units import count, duration

_EXPLICIT: Final = ("DeviceSynchronize", "EventSynchronize", "CtxSynchronize")

MIN_PER_STEP: Final = 1.0
"""Fewer are around the loop, for timing."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    waits = [
        wait
        for wait in view.waits
        if wait.calls[0].name.endswith(_EXPLICIT)
        and not wait.site.outer_op
        and not waits_for_others(wait)
    ]
    calls = sum(len(wait.calls) for wait in waits)
    if not waits or per_step(calls, view) < MIN_PER_STEP:
        return
    waited = sum(wait.wait_us for wait in waits)
    bound = sum(wait.recoverable_us for wait in waits)
    yield DeviceFinding(
        title=f"the program synchronizes with the GPU {count(calls)} times",
        saved_us=Range(0.0, bound),
        evidence=(
            f"it waits {duration(waited)} in them; the GPU is idle after them for {duration(bound)} at most: "
            "only that can be gained",
        ),
        fix="Remove torch.cuda.synchronize() from the loop; time with CUDA events that are read later.",
        causes=(IdleCause.SYNC, IdleCause.BLOCKING_COPY),
        places=places_of(waits),
    )


DETECTOR: Final = Detector(
    id="explicit-synchronize",
    name="synchronize() called in the loop",
    in_trace=InTrace(detect),
)
