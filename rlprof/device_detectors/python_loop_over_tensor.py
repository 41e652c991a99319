"""A Python loop that takes the items of a tensor one by one, with some launches for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.analysis.device.host import call_sites
from rlprof.analysis.device.repeats import loops_over_tensors
from rlprof.analysis.device.view import TraceView
from rlprof.device_detectors.base import SHOWN_PLACES, DeviceDetector, place
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Range
from rlprof.units import count, duration, percent

FEWEST_TURNS: Final = 10
"""As torch's own pattern matcher has it (ForLoopIndexingPattern)."""

MIN_SHARE: Final = 0.01
"""Of the wall time, spent in such loops."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    loops = sorted(
        loops_over_tensors(view.outermost_ops, FEWEST_TURNS), key=lambda it: -it.span.length
    )
    held = sum(it.span.length for it in loops)
    if not loops or held < MIN_SHARE * view.wall.length:
        return
    turns = sum(it.turns for it in loops)
    ops = sum(it.ops for it in loops)
    # What one turn takes is left: the same ops over all items at once.
    idle = view.idle_in(it.span for it in loops) * (1 - len(loops) / turns)
    shown = loops[:SHOWN_PLACES]
    yield DeviceFinding(
        detector=DETECTOR.id,
        title="a Python loop takes a tensor apart, item by item",
        saved_us=Range(0.0, idle),
        evidence=(
            f"{count(ops)} ops in {count(turns)} turns hold the host for {duration(held)}, "
            f"{percent(held / view.wall.length)} of the trace; the GPU has nothing to do for {duration(idle)} of it",
        ),
        fix="One op over all items. A recursion over time, as in GAE: on the CPU with NumPy, over all environments "
        "at once, or torch.compile.",
        confidence=Confidence.BOUNDED,
        causes=(IdleCause.LAUNCH_BOUND, IdleCause.OTHER, IdleCause.SYNC),
        places=tuple(
            place(site, loop.turns, loop.span.length)
            for site, loop in zip(
                call_sites(view.trace, [it.first for it in shown]), shown, strict=True
            )
        ),
    )


DETECTOR: Final = DeviceDetector("python-loop-over-tensor", "a Python loop over a tensor", detect)
