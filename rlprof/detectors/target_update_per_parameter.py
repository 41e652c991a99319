"""Target networks that are moved parameter by parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from rlprof.calibration import calibrated
from rlprof.detectors.base import Detector, InSamples, InTrace, Need
from rlprof.detectors.recognisers.target_updates import MovedBy, TargetUpdate, target_updates
from rlprof.detectors.recognisers.torch_time import torch_time
from rlprof.device.host import call_sites
from rlprof.device.intervals import Measure, union
from rlprof.device.places import SHOWN_PLACES, place
from rlprof.device.repeats import averages_by_parameter
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import PhaseKind, Profile
from rlprof.source.lines import Line, UserLines, short_place
from rlprof.units import count, duration, percent

MIN_SHARE: Final = 0.02
"""Of the critical time: twice what a report lists."""

REMOVABLE: Final = calibrated(
    Range(0.6, 0.96),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, torch 2.13 on one thread: copy_ of a sum for the 6 "
    "parameters of two layers of 64 73 µs, mul_ and add_ of a product 61, and 4 instead; of "
    "256 104, 78 and 10. Of 2.5 million numbers 0.10 and 0.24 is left, of 9 million 0.04 to "
    "0.16 and 0.32 to 0.38",
    date="2026-11-21",
)
"""Part that ``torch._foreach_lerp_`` saves where tensors are made for each parameter. Lists that are made
anew each time leave some more."""

CALLS_REMOVABLE: Final = calibrated(
    Range(0.25, 0.91),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, torch 2.13 on one thread: of two layers of 64 0.09 is "
    "left, of 256 0.18, of 2.5 million numbers 0.61, of 9 million 0.66 to 0.70",
    date="2026-11-21",
)
"""The same where none is made, ``mul_`` and ``add_`` with ``alpha``. How large the networks are the samples
do not tell."""

ONE_CALL_REMOVABLE: Final = calibrated(
    Range(0.0, 0.88),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, torch 2.13 on one thread: of two layers of 64 0.15 and "
    "0.12 is left, of 256 0.29, of 2.5 million numbers 0.75 to 0.87, of 9 million 0.96",
    date="2026-11-21",
)
"""The same of one call, ``lerp_`` or ``copy_``."""

SHOWN_LINES: Final = 4

_REMOVABLE: Final = {
    MovedBy.SUM: REMOVABLE,
    MovedBy.CALLS: CALLS_REMOVABLE,
    MovedBy.ONE_CALL: ONE_CALL_REMOVABLE,
}


FEWEST_PARAMETERS: Final = 10
"""Of an update: two networks of three layers have twelve."""

MIN_TRACE_SHARE: Final = 0.01
"""Of the wall time, spent in such updates."""


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    lines = UserLines(tree, profile.sources, profile.started_package)
    updates = {file: target_updates(text) for file, text in profile.sources.items()}
    times = {it: torch_time(tree, lines, _places(updates, it)) for it in MovedBy}
    weights = {line: us for time in times.values() for line, us in time.weights.items()}
    total = sum(weights.values())
    if not whole or total < MIN_SHARE * whole:
        return
    heaviest = max(weights, key=lambda line: (weights[line], line))
    update = updates[heaviest.file][heaviest.line]
    loop = Line(heaviest.file, update.line, "")
    each = f", {duration(total / profile.steady_steps)} a step" if profile.steady_steps else ""
    yield Finding(
        detector=DETECTOR.id,
        title=f"a target network is moved parameter by parameter ({short_place(loop)})",
        phase=PhaseKind.STEADY,
        savings=tuple(
            Saving(time.nodes, _REMOVABLE[moved_by])
            for moved_by, time in times.items()
            if time.nodes
        ),
        locations=lines.locations(weights, whole)[:SHOWN_LINES],
        evidence=(
            f"{percent(total / whole)} of the steady time is spent in that loop{each}",
            "the source shows a Python loop over the parameters of two networks",
        ),
        fix="Make the lists once, targets = list(target.parameters()), and move all by one call under "
        "torch.no_grad(): torch._foreach_lerp_(targets, sources, tau).",
        confidence=Confidence.MEASURED if update.moved_by is MovedBy.SUM else Confidence.BOUNDED,
    )


def _places(
    updates: Mapping[str, Mapping[int, TargetUpdate]], moved_by: MovedBy
) -> dict[str, frozenset[int]]:
    """The lines of one kind of loop, by file."""
    return {
        file: frozenset(line for line, it in found.items() if it.moved_by is moved_by)
        for file, found in updates.items()
    }


def detect_in_trace(view: TraceView) -> Iterable[DeviceFinding]:
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
    if not updates or held < MIN_TRACE_SHARE * view.wall.length:
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


DETECTOR: Final = Detector(
    id="target-update-per-parameter",
    name="target networks that are moved parameter by parameter",
    in_samples=InSamples(detect_in_samples, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
    in_trace=InTrace(detect_in_trace),
)
