"""Policies that record a graph for a backward pass that never comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rlprof.analysis.device.host import call_sites, outermost
from rlprof.analysis.device.view import TraceView
from rlprof.device_detectors.base import DeviceDetector, place
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Range
from rlprof.model.trace import Row, Trace
from rlprof.units import count, duration, percent

MIN_UNUSED: Final = 0.3
"""Part of the recorded ops that no backward pass uses. 0 to 2 % are usual: metrics."""

FEWEST_UNUSED: Final = 50

MOST_STRANGE: Final = 0.1
"""Part of the backward's ops whose forward is not in the trace: more are of a trace that was thinned out."""

RECORDING: Final = 0.2
"""Of the host's time in such ops at most: what recording a graph takes."""

_BACKWARD: Final = "autograd::engine::"


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    used = {op.args.sequence for op in view.outermost_ops if op.name.startswith(_BACKWARD)} - {-1}
    if not used:
        return
    ops = [*_forward(view.trace)]
    forward = {op.args.sequence for op in ops} - {-1}
    if len(used - forward) > MOST_STRANGE * len(used):
        return
    unused = forward - used
    if len(unused) < max(FEWEST_UNUSED, MIN_UNUSED * len(forward)):
        return
    wasted = outermost(op for op in ops if op.args.sequence in unused)
    held = sum(op.dur for op in wasted)
    idle = view.idle_in((op.ts, op.end) for op in wasted)
    (site,) = call_sites(view.trace, wasted[:1])
    yield DeviceFinding(
        detector=DETECTOR.id,
        title="a graph is recorded for a backward pass that never comes",
        saved_us=Range(0.0, min(RECORDING * held, idle)),
        evidence=(
            f"{count(len(unused))} of {count(len(forward))} recorded ops, "
            f"{percent(len(unused) / len(forward))}, are used by no backward pass; calling them holds the host "
            f"for {duration(held)}",
        ),
        fix="with torch.inference_mode(): (or torch.no_grad()) around what collects or evaluates.",
        confidence=Confidence.BOUNDED,
        causes=(IdleCause.LAUNCH_BOUND,),
        places=(place(site, len(wasted), held),),
    )


def _forward(trace: Trace) -> Iterator[Row]:
    """Ops outside of backward passes; inside of them is what checkpointing does again."""
    around: dict[object, tuple[float, bool]] = {}
    for op in trace.ops:
        end, is_backward = around.get(op.thread, (op.ts, False))
        if op.ts >= end:
            is_backward = op.name.startswith(_BACKWARD)
            around[op.thread] = (op.end, is_backward)
        if not is_backward:
            yield op


DETECTOR: Final = DeviceDetector("grads-in-rollout", "graphs that no backward pass uses", detect)
