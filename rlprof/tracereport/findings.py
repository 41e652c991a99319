"""Which findings of a trace are shown, in which order, and how much each may promise.

The sum of all never exceeds what could be gained at all: the time in which the busiest device was idle.
While a device is busy for most of the time, nothing that makes the host quicker is worth much.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Final

from rlprof import device_detectors
from rlprof.analysis.device.view import TraceView
from rlprof.device_detectors.base import DeviceDetector
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Range

BUSY: Final = 0.85
"""Part of the wall time that a device works for from which on the host is quick enough."""

WORTH_LISTING: Final = 0.01
"""Part of the wall time at the upper end below which a finding is a remark."""


@dataclass(frozen=True, slots=True)
class TraceFindings:
    """In the order of what they may save."""

    listed: tuple[DeviceFinding, ...]
    also_seen: tuple[DeviceFinding, ...]
    """Seen, and worth nearly nothing."""


def discover_device_detectors() -> tuple[DeviceDetector, ...]:
    """Every detector of ``rlprof.device_detectors``, by id."""
    modules = (
        import_module(f"{device_detectors.__name__}.{module.name}")
        for module in pkgutil.iter_modules(device_detectors.__path__)
    )
    found = [module.DETECTOR for module in modules if hasattr(module, "DETECTOR")]
    return tuple(sorted(found, key=lambda it: it.id))


def find_in(view: TraceView, detectors: Sequence[DeviceDetector]) -> TraceFindings:
    """Nothing where the rows of the device are missing: that is no idle device."""
    if not view.has_device or not view.wall.length:
        return TraceFindings((), ())
    found = [finding for detector in detectors for finding in detector.detect(view)]
    found.sort(key=lambda it: (-(2 * it.saved_us.low + it.saved_us.high), it.detector))
    left = (1 - view.busy_share) * view.wall.length
    listed, also_seen = [], []
    for finding in found:
        bound = min(finding.saved_us.high, left)
        capped = replace(finding, saved_us=Range(min(finding.saved_us.low, bound), bound))
        is_worth_it = bound >= WORTH_LISTING * view.wall.length
        if is_worth_it and not (finding.is_host_side and view.busy_share > BUSY):
            listed.append(capped)
            left -= bound
        else:
            also_seen.append(capped)
    return TraceFindings(tuple(listed), tuple(also_seen))
