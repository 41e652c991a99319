"""Modes for finding errors that are still on: blocking launches, autograd's anomaly mode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rlprof.detectors.base import Detector, InSamples, InTrace
from rlprof.detectors.recognisers.anomaly_mode import AnomalyMode
from rlprof.device.blocking import is_launch
from rlprof.device.host import HostThreads
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Confidence, Finding, Location, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import short_place
from rlprof.tracefile.regions import BACKWARD
from rlprof.units import count, duration, of_each_step, percent

MIN_SHARE: Final = 0.02
"""Least share of the critical time that anomaly mode takes: twice what a report lists."""

FEWEST_SAMPLES: Final = 4
"""Fewest samples in stacks recorded for ops: fewer may be of a moment in which the mode was on."""

LONG_KERNEL_US: Final = 20.0
"""Length of a kernel from which on it cannot end before its launch does, unless the launch waits."""

FEWEST_LAUNCHES: Final = 10
"""Fewest launches of such kernels, to tell a mode from chance."""

BLOCKING: Final = 0.9
"""Part of them that have ended before their launch has. None has in any ordinary trace seen."""

LAUNCH_US: Final = calibrated(
    5.0,
    unit="µs",
    source="traces of 24 programs: medians of 1.3 to 18, most of them of 4 to 9",
    date="2026-11-23",
)
"""Time of a launch that does not wait."""

FEWEST_CHECKS: Final = 10
CHECKED: Final = 0.5
"""Part of the backward's ops that look for NaN, in anomaly mode each."""

_EVALUATES: Final = BACKWARD + "evaluate_function: "


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    mode = AnomalyMode(profile)
    stacks = mode.stacks
    fewest_us = FEWEST_SAMPLES * profile.critical.sample_interval_us
    if not whole or stacks.total_us < max(1, fewest_us) or mode.least_us < MIN_SHARE * whole:
        return
    switch = next(iter(mode.switches), None)
    is_measured = bool(mode.switches) and mode.backward_us <= stacks.total_us and not mode.is_on_gpu
    share = min(1.0, (stacks.total_us + mode.backward_us) / whole)
    at_switch = (
        ()
        if switch is None
        else (Location(switch.file, switch.line, switch.function, share, mode.lines.text(switch)),)
    )
    yield Finding(
        title=f"autograd's anomaly detection is on ({short_place(switch or stacks.heaviest)})",
        savings=(
            Saving(stacks.nodes, mode.stacks_removable(whole)),
            *(Saving(frozenset(nodes), part) for part, nodes in mode.backward.items()),
        ),
        locations=(*at_switch, *mode.lines.shown_locations(stacks.weights, whole)),
        evidence=tuple(_evidence(mode, profile)),
        fix="Take set_detect_anomaly(True), or the with detect_anomaly(), out now that the NaN is found; to look for "
        "another, switch it on by an option.",
        confidence=Confidence.MEASURED if is_measured else Confidence.BOUNDED,
    )


def _evidence(mode: AnomalyMode, profile: Profile) -> Iterator[str]:
    whole, recorded_us = profile.critical.wall_us, mode.stacks.total_us
    yield (
        f"{percent(recorded_us / whole)} of the steady time is spent in format_stack, which torch calls for each op only in "
        f"this mode{of_each_step(recorded_us, profile.steady_steps)}"
    )
    if mode.backward_us:
        yield (
            f"{percent(mode.backward_us / whole)} is spent in backward passes, whose gradients are checked for NaN: a part "
            "of it goes, too"
        )
    elif mode.switches:
        yield "check_nan=False: gradients are not checked"
    if not mode.switches:
        yield "no source that was read shows where it is switched on"


def detect_in_trace(view: TraceView) -> Iterable[DeviceFinding]:
    yield from _blocking_launches(view)
    yield from _anomaly_mode(view)


def _blocking_launches(view: TraceView) -> Iterator[DeviceFinding]:
    long = {
        kernel.args.correlation: kernel
        for kernel in view.trace.kernels
        if kernel.dur >= LONG_KERNEL_US
    }
    if len(long) < FEWEST_LAUNCHES:
        return
    launches = [call for call in view.trace.calls if is_launch(call)]
    theirs = [launch for launch in launches if launch.args.correlation in long]
    waited = sum(long[their.args.correlation].end <= their.end for their in theirs)
    if len(theirs) < FEWEST_LAUNCHES or waited < BLOCKING * len(theirs):
        return
    held = sum(max(0.0, launch.dur - LAUNCH_US) for launch in launches)
    yield DeviceFinding(
        title="every launch waits until its kernel has ended",
        saved_us=Range(0.0, min(held, view.wall.length * (1 - view.busy_share))),
        evidence=(
            f"{count(waited)} of {count(len(theirs))} launches last longer than their kernels; the host is held in "
            f"launches for {duration(held)}",
            "other findings describe a program without it: take it out first",
        ),
        fix="Unset CUDA_LAUNCH_BLOCKING (AMD: AMD_SERIALIZE_KERNEL, HIP_LAUNCH_BLOCKING).",
    )


def _anomaly_mode(view: TraceView) -> Iterator[DeviceFinding]:
    backward = sum(operator.name.startswith(_EVALUATES) for operator in view.trace.ops)
    checks = [operator for operator in view.trace.ops if operator.name == "aten::isnan"]
    least = max(FEWEST_CHECKS, CHECKED * backward)
    if not backward or len(checks) < least:
        return
    around = HostThreads(view.trace.ops).around(checks)
    inside = sum(ops[0].name.startswith(_EVALUATES) for ops in around.values() if ops)
    if inside < least:
        return
    yield DeviceFinding(
        title="autograd looks for NaN after each op of the backward pass",
        saved_us=Range(0.0, 0.0),
        evidence=(
            f"{count(inside)} checks for {count(backward)} ops of the backward pass; "
            + ("each is read from the GPU, and " if view.trace.kernels else "")
            + "each op of the forward pass records its stack",
        ),
        fix="Turn torch.autograd.set_detect_anomaly(True) off when the NaN is found.",
        confidence=Confidence.SUSPECTED,
    )


DETECTOR: Final = Detector(
    id="debug-modes",
    name="modes for finding errors, left on",
    in_samples=InSamples(detect_in_samples),
    in_trace=InTrace(detect_in_trace),
)
