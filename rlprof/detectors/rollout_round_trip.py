"""Each step of the environments waits for the policy, and the policy for the environments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.host import call_sites
from rlprof.device.places import SHOWN_PLACES, place
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Range
from rlprof.units import count, duration

FEWEST_TRIPS: Final = 10
"""With actions and observations of one size, as those of a rollout are. A recommender that
reads two things in each iteration had ten trips, five of each size."""

LATENCY_US: Final = calibrated(
    60.0,
    unit="µs",
    source="traces: 20 to 60",
    date="2026-11-21",
)
"""Time of a copy and a launch, at most: what a trip costs beside the environment."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    often = Counter(trip.shape for trip in view.round_trips)
    trips = [trip for trip in view.round_trips if often[trip.shape] >= FEWEST_TRIPS]
    if not trips:
        return
    away = sum(trip.away.length for trip in trips)
    idle = view.idle_in((trip.read.end, trip.away.end) for trip in trips)
    sites = Counter(call_sites(view.trace, [trip.read for trip in trips]))
    yield DeviceFinding(
        title=f"the environments and the GPU take turns {count(len(trips))} times",
        saved_us=Range(0.0, min(len(trips) * LATENCY_US, idle)),
        evidence=(
            f"{count(len(trips))} actions are copied to the host; {duration(away)} later in all their "
            f"observations come back, {duration(away / len(trips))} each",
            "an action has to be known before the environment steps: only what a trip costs by itself is "
            "counted here",
        ),
        fix="More environments per step, so that there are fewer trips; two groups of environments in turns, one "
        "steps while the policy works for the other; one pinned buffer for observations, copied with "
        "non_blocking=True; a small policy on the CPU.",
        causes=(IdleCause.SYNC, IdleCause.BLOCKING_COPY, IdleCause.LAUNCH_BOUND, IdleCause.OTHER),
        places=tuple(
            place(site, number, away * number / len(trips))
            for site, number in sites.most_common(SHOWN_PLACES)
        ),
    )


DETECTOR: Final = Detector(
    id="rollout-round-trip",
    name="environments and the GPU take turns",
    in_trace=InTrace(detect),
)
