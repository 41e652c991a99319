"""The contract of a device detector."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rlprof.analysis.device.host import CallSite
from rlprof.analysis.device.view import SiteWait, TraceView
from rlprof.model.device import DeviceFinding, TracePlace

SHOWN_PLACES = 4


@dataclass(frozen=True, slots=True)
class DeviceDetector:
    """One cause of lost time on a device, found in a trace alone."""

    id: str
    """Also the name of its page, ``docs/detectors/<id>.md``."""
    name: str
    detect: Callable[[TraceView], Iterable[DeviceFinding]]
    """A pure function: the same trace gives the same findings."""


def places_of(waits: Iterable[SiteWait]) -> tuple[TracePlace, ...]:
    return tuple(place(it.site, len(it.calls), it.wait_us) for it in waits)[:SHOWN_PLACES]


def place(site: CallSite, count: int, time_us: float) -> TracePlace:
    return TracePlace(site.file, site.line, site.function, site.outer_op, count, time_us)


def per_step(number: float, view: TraceView) -> float:
    """Of a whole trace, for each of its steps; all of it where there are none."""
    return number / max(1, view.step_count)
