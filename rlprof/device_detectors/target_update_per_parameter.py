"""A target network or an average of parameters, updated with launches for each parameter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.analysis.device.host import call_sites
from rlprof.analysis.device.intervals import Measure, union
from rlprof.analysis.device.repeats import averages_by_parameter
from rlprof.analysis.device.view import TraceView
from rlprof.device_detectors.base import SHOWN_PLACES, DeviceDetector, place
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Range
from rlprof.units import count, duration, percent

FEWEST_PARAMETERS: Final = 10
"""Of an update: two networks of three layers have twelve."""

MIN_SHARE: Final = 0.01
"""Of the wall time, spent in such updates."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    stepping = Measure(
        union(
            (row.ts, row.end)
            for row in view.trace.annotations
            if row.name.startswith("Optimizer.step#")
        )
    )
    # An optimizer in a Python loop mixes tensors, too (optimizer-not-fused).
    updates = [
        it
        for it in averages_by_parameter(view.outermost_ops, FEWEST_PARAMETERS)
        if not stepping.inside(*it.span)
    ]
    held = sum(it.span.length for it in updates)
    if not updates or held < MIN_SHARE * view.wall.length:
        return
    parameters = sum(it.turns for it in updates)
    idle = view.idle_in(it.span for it in updates) * (1 - len(updates) / parameters)
    shown = sorted(updates, key=lambda it: -it.span.length)[:SHOWN_PLACES]
    yield DeviceFinding(
        detector=DETECTOR.id,
        title="parameters are averaged one by one",
        saved_us=Range(0.0, idle),
        evidence=(
            f"{count(len(updates))} updates of {count(round(parameters / len(updates)))} parameters each hold the "
            f"host for {duration(held)}, {percent(held / view.wall.length)} of the trace; the GPU has nothing to do "
            f"for {duration(idle)} of it",
        ),
        fix="torch._foreach_lerp_(list(target.parameters()), list(network.parameters()), tau) under "
        "torch.no_grad(): a few launches for all.",
        confidence=Confidence.SUSPECTED,
        causes=(IdleCause.LAUNCH_BOUND, IdleCause.OTHER),
        places=tuple(
            place(site, it.turns, it.span.length)
            for site, it in zip(
                call_sites(view.trace, [it.first for it in shown]), shown, strict=True
            )
        ),
    )


DETECTOR: Final = DeviceDetector(
    "target-update-per-parameter", "target networks updated by parameter", detect
)
