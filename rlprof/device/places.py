"""The places that a finding of a trace names, and its figures for each step."""

from __future__ import annotations

from collections.abc import Iterable

from rlprof.device.host import CallSite, call_sites
from rlprof.device.repeats import Repeat
from rlprof.device.view import SiteWait, TraceView
from rlprof.model.device import TracePlace

SHOWN_PLACES = 4


def places_of(waits: Iterable[SiteWait]) -> tuple[TracePlace, ...]:
    return tuple(place(wait.site, len(wait.calls), wait.wait_us) for wait in waits)[:SHOWN_PLACES]


def places_of_repeats(view: TraceView, repeats: Iterable[Repeat]) -> tuple[TracePlace, ...]:
    """Return where the longest begin."""
    shown = sorted(repeats, key=lambda repeat: -repeat.span.length)[:SHOWN_PLACES]
    sites = call_sites(view.trace, [repeat.first for repeat in shown])
    return tuple(
        place(site, repeat.turns, repeat.span.length)
        for site, repeat in zip(sites, shown, strict=True)
    )


def place(site: CallSite, count: int, time_us: float) -> TracePlace:
    return TracePlace(site.file, site.line, site.function, site.outer_op, count, time_us)


def per_step(number: float, view: TraceView) -> float:
    """Return a number of a whole trace for each of its steps; all of it where there are none."""
    return number / max(1, view.step_count)
