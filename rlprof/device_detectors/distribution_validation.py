"""The checks of ``torch.distributions``, whose answers are read from the device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.analysis.device.host import DISTRIBUTIONS
from rlprof.analysis.device.view import TraceView
from rlprof.device_detectors.base import DeviceDetector, per_step, places_of
from rlprof.device_detectors.gpu_sync import waits_for_others
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Range
from rlprof.units import count, duration


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    waits = [
        it for it in view.waits if it.site.asked_by == DISTRIBUTIONS and not waits_for_others(it)
    ]
    if not waits:
        return
    calls = sum(len(it.calls) for it in waits)
    bound = sum(it.recoverable_us for it in waits)
    evidence = [
        f"{count(calls)} checks wait {duration(sum(it.wait_us for it in waits))}; the GPU is idle after them for "
        f"{duration(bound)} at most: only that can be gained"
    ]
    if view.step_count:
        evidence.append(f"{count(float(f'{per_step(calls, view):.2g}'))} checks per step")
    yield DeviceFinding(
        detector=DETECTOR.id,
        title="torch.distributions checks its values and waits for the GPU",
        saved_us=Range(0.0, bound),
        evidence=tuple(evidence),
        fix="torch.distributions.Distribution.set_default_validate_args(False), or validate_args=False; leave "
        "the checks on while you look for the source of NaNs.",
        confidence=Confidence.BOUNDED,
        causes=(IdleCause.SYNC, IdleCause.BLOCKING_COPY),
        places=places_of(waits),
    )


DETECTOR: Final = DeviceDetector("distribution-validation", "checks of torch.distributions", detect)
