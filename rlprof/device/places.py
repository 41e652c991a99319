"""The places that a finding of a trace names, and its figures for each step."""

from __future__ import annotations

from collections.abc import Iterable

from rlprof.device.host import CallSite
from rlprof.device.view import SiteWait, TraceView
from rlprof.model.device import TracePlace

SHOWN_PLACES = 4


def places_of(waits: Iterable[SiteWait]) -> tuple[TracePlace, ...]:
    return tuple(place(wait.site, len(wait.calls), wait.wait_us) for wait in waits)[:SHOWN_PLACES]


def place(site: CallSite, count: int, time_us: float) -> TracePlace:
    return TracePlace(site.file, site.line, site.function, site.outer_op, count, time_us)


def per_step(number: float, view: TraceView) -> float:
    """Of a whole trace, for each of its steps; all of it where there are none."""
    return number / max(1, view.step_count)
