"""Double precision on the device, mostly from NumPy arrays that nobody converted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.host import CallSite, call_sites
from rlprof.device.kernels import FP64, kernels_named
from rlprof.device.places import SHOWN_PLACES, place
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, TracePlace
from rlprof.model.finding import Range
from rlprof.model.trace import Row
from rlprof.units import count, duration, percent

MIN_SHARE: Final = 0.02
"""Of the time that the device works. 0.1 to 0.2 % is usual: sums and losses are kept in it."""

SAVED: Final = 1 - 1 / 64
"""Of the time of such kernels at most: half the bytes where memory is the limit; where arithmetic is,
single precision is 2 to 64 times as quick, by the kind of the device."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    kernels = kernels_named(view.trace, FP64)
    us = sum(kernel.dur for kernel in kernels)
    if view.busiest is None or not kernels or us < MIN_SHARE * view.busiest.busy_us:
        return
    yield DeviceFinding(
        title="the GPU computes in double precision",
        saved_us=Range(0.0, SAVED * us),
        evidence=(
            f"{count(len(kernels))} kernels on doubles take {duration(us)}, "
            f"{percent(us / view.busiest.busy_us)} of the time that the GPU works",
        ),
        fix="Find the first double: NumPy makes float64 arrays. torch.as_tensor(x, dtype=torch.float32), or "
        "observations and rewards in float32 from the start.",
        places=_places(view, kernels),
        causes=(),
    )


def _places(view: TraceView, kernels: Iterable[Row]) -> tuple[TracePlace, ...]:
    """Where they were launched, those that take longest first."""
    by_launch = {kernel.args.correlation: kernel.dur for kernel in kernels}
    calls = [it for it in view.trace.calls if it.args.correlation in by_launch]
    times: dict[CallSite, list[float]] = defaultdict(list)
    for call, site in zip(calls, call_sites(view.trace, calls), strict=True):
        times[site].append(by_launch[call.args.correlation])
    ranked = sorted(times.items(), key=lambda item: -sum(item[1]))
    return tuple(place(site, len(us), sum(us)) for site, us in ranked[:SHOWN_PLACES])


DETECTOR: Final = Detector(
    id="fp64",
    name="double precision on the GPU",
    in_trace=InTrace(detect),
)
