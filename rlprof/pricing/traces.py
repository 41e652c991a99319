"""Tell which findings of a trace are shown, in which order, and how much each may promise.

The sum of all never exceeds what could be gained at all: from a quicker host, the time in which the busiest
device was idle, and each moment of it once; from a quicker device, the time in which the host waits for it.
While a device is busy for most of the time, nothing that makes the host quicker is worth much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from rlprof.detectors.base import Detector, detect_all
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Range
from rlprof.model.recording import Note
from rlprof.pricing.ranking import WORTH_LISTING, cautious_mean

BUSY: Final = 0.85
"""Part of the wall time that a device works for from which on the host is quick enough."""


@dataclass(frozen=True, slots=True)
class TraceFindings:
    """In the order of what they may save."""

    listed: tuple[DeviceFinding, ...]
    also_seen: tuple[DeviceFinding, ...]
    """Seen, and worth nearly nothing."""
    failures: Mapping[str, Note] = field(default_factory=dict)
    """By the detector that failed."""


def find_in(view: TraceView, detectors: Sequence[Detector]) -> TraceFindings:
    """Nothing where the rows of the device are missing: that is no idle device."""
    if not view.has_device or not view.wall.length:
        return TraceFindings((), ())
    in_trace = (
        (detector.id, detector.in_trace.detect)
        for detector in detectors
        if detector.in_trace is not None
    )
    found, failures = detect_all(in_trace, view)
    found.sort(key=_by_worth)
    unsold = _Unsold(view)
    listed, also_seen = [], []
    for finding in found:
        bound = min(finding.saved_us.high, unsold.to(finding))
        capped = replace(
            finding,
            saved_us=Range(min(finding.saved_us.low, bound), bound),
            confidence=finding.confidence if view.is_typical else Confidence.SUSPECTED,
        )
        is_worth_it = bound >= WORTH_LISTING * view.wall.length
        if is_worth_it and not (finding.is_host_side and view.busy_share > BUSY):
            listed.append(capped)
            unsold.sell(finding, bound)
        else:
            also_seen.append(capped)
    return TraceFindings(
        tuple(sorted(listed, key=_by_worth)),
        tuple(also_seen),
        failures,
    )


def _by_worth(finding: DeviceFinding) -> tuple[float, str]:
    return -cautious_mean(finding.saved_us), finding.detector


class _Unsold:
    """Time that no finding has promised yet, in µs."""

    def __init__(self, view: TraceView) -> None:
        self._idle = (1 - view.busy_share) * view.wall.length
        self._by_cause = {cause: view.idle_us(cause) for cause in IdleCause}
        self._waits = view.host_waits_us

    def to(self, finding: DeviceFinding) -> float:
        """Return what is left for ``finding``."""
        if not finding.is_host_side:
            return self._waits
        return min(self._idle, sum(self._by_cause[cause] for cause in finding.causes))

    def sell(self, finding: DeviceFinding, us: float) -> None:
        if not finding.is_host_side:
            self._waits -= us
            return
        self._idle -= us
        for cause in finding.causes:
            taken = min(us, self._by_cause[cause])
            self._by_cause[cause] -= taken
            us -= taken
