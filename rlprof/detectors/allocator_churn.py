"""Memory of a GPU that is asked for and given back while training: each time the GPU is waited for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, InTrace
from rlprof.detectors.recognisers.line_time import calls_time
from rlprof.device.idle import ALLOCATOR
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import UserLines, last_name
from rlprof.syntax.origin import installed_package
from rlprof.units import count, duration, percent

MIN_SHARE: Final = 0.02
"""Least share of the wall time."""

EMPTYING: Final = Range(0.0, 1.0)
"""Part of the time in ``empty_cache()`` that goes with it. It waits for the GPU before it gives memory back: if the next line would wait as
long, nothing is gained by that."""

ALLOCATED_ANEW: Final = calibrated(
    4.0,
    unit="times of the time in empty_cache()",
    source="one program on an H200: 0.10 of its time in empty_cache(), 0.35 saved without it, so 2.6 more (docs/on-a-gpu.md)",
    date="2026-11-27",
)
"""Most time that it takes to ask the driver again for what was given back."""

_EMPTIES: Final = re.compile(
    r"[/\\]torch[/\\](cuda|xpu|mps|accelerator)[/\\](memory|__init__)\.py$"
)


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    lines = UserLines.of(profile)
    owners = ((node, lines.owner(node)) for node in tree.topmost(_empties))
    calls = {node: owner for node, owner in owners if owner != NO_PARENT}
    spent = calls_time(profile, lines, ((node, lines.line(owner)) for node, owner in calls.items()))
    if not spent.is_worth(MIN_SHARE):
        return
    allocating = _allocating(tree, {tree.nodes[owner].parent for owner in calls.values()})
    allocating -= spent.nodes
    their_us = tree.cost_of(allocating).wall_us
    again_us = min(their_us, ALLOCATED_ANEW * spent.total_us)
    yield Finding(
        title=f"the GPU's cached memory is given back in the loop ({spent.place})",
        savings=(
            Saving(spent.nodes, EMPTYING),
            Saving(frozenset(allocating), Range(0.0, again_us / their_us if their_us else 0.0)),
        ),
        locations=spent.locations,
        evidence=(
            spent.share_spent("in empty_cache()"),
            "what is allocated after it is asked of the driver anew: that is slow, and is no line of its own, "
            f"{percent(again_us / whole)} of the time at most",
        ),
        fix="Take empty_cache() out of the loop. torch uses the memory again that it holds, and gives it back by itself "
        "before it runs out.",
        confidence=Confidence.BOUNDED,
    )


def _empties(frame: Frame) -> bool:
    return last_name(frame.function) == "empty_cache" and bool(_EMPTIES.search(frame.file))


def _allocating(tree: CallTree, loops: set[int]) -> set[int]:
    """Torch's own nodes in and around the functions that give memory back: any of them may have to ask for it again."""
    return {
        node
        for loop in loops
        for node in tree.subtree(loop)
        if node != NO_PARENT and installed_package(tree.frame(node).file) == "torch"
    }


def detect_in_trace(view: TraceView) -> Iterable[DeviceFinding]:
    # The first step allocates what later ones use again.
    since = view.steps[0].end if len(view.steps) > 1 else view.wall.start
    calls = [call for call in view.trace.calls if call.name in ALLOCATOR and call.ts >= since]
    us = sum(call.dur for call in calls)
    if not view.step_count or us < MIN_SHARE * view.wall.length:
        return
    frees = sum("Free" in call.name or "Release" in call.name for call in calls)
    yield DeviceFinding(
        title="device memory is allocated and freed while it trains",
        saved_us=Range(0.0, min(us, view.idle_us(IdleCause.ALLOCATOR))),
        evidence=(
            f"{count(len(calls))} calls of the driver, {count(frees)} of them to give memory back, take "
            f"{duration(us)}",
        ),
        fix="Take torch.cuda.empty_cache() out of the loop; keep shapes fixed, or set "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; leave room below the device's memory.",
        causes=(IdleCause.ALLOCATOR,),
    )


DETECTOR: Final = Detector(
    id="allocator-churn",
    name="device memory allocated in the loop",
    in_samples=InSamples(detect_in_samples),
    in_trace=InTrace(detect_in_trace),
)
