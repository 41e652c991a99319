"""Target networks that are moved parameter by parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from rlprof.detectors.base import Detector, InSamples, InTrace, Need
from rlprof.detectors.recognisers.line_time import LinesByPart, lines_time
from rlprof.detectors.recognisers.networks.target_loops import (
    MovedBy,
    TargetUpdate,
    seen_update,
    target_updates,
)
from rlprof.device.intervals import CoveredTime, union
from rlprof.device.places import places_of_repeats
from rlprof.device.repeats import averages_by_parameter
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Finding, Range
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import Line, UserLines, last_name, short_place
from rlprof.source.values import Values
from rlprof.tracefile.regions import OPTIMIZER_STEP
from rlprof.units import count, duration, percent

MIN_SHARE: Final = 0.02
"""Least share of the critical time: twice what a report lists."""

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

FEWEST_PARAMETERS: Final = 10
"""Fewest parameters of an update: two networks of three layers have twelve."""

MIN_TRACE_SHARE: Final = 0.01
"""Least share of the wall time, spent in such updates."""


_AND_BUFFERS: Final = (
    " Where the state dicts hold buffers, too, as BatchNorm's running means, put those of floats at the end of both lists "
    "(b for b in target.buffers() if b.is_floating_point()), and copy_ the others."
)


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    lines = UserLines.of(profile)
    values = Values(profile.values)
    updates = {file: dict(target_updates(text)) for file, text in profile.sources.items()}
    for frame in {tree.frame(node) for node in tree.hot_nodes()}:
        if (update := seen_update(lines, values, frame)) is not None:
            updates.setdefault(frame.file, {}).setdefault(frame.line, update)

    def is_for_it(line: Frame, below: Frame) -> bool:
        return last_name(below.function) in updates[line.file][line.line].calls

    time = LinesByPart(profile, lines)
    for kind, part in _REMOVABLE.items():
        of_kind = lines_time(profile, lines, _places(updates, kind), calls=is_for_it)
        for line, us in of_kind.weights.items():
            time.add_part(line, us, of_kind.nodes, part)
    if not time.is_worth(MIN_SHARE):
        return
    heaviest = time.heaviest
    update = updates[heaviest.file][heaviest.line]
    loop = Line(heaviest.file, update.line, "")
    yield Finding(
        title=f"a target network is moved parameter by parameter ({short_place(loop)})",
        savings=time.savings,
        locations=time.locations,
        evidence=(
            time.share_spent("in that loop"),
            "the source shows a Python loop over the parameters of two networks",
        ),
        fix="Make the lists once, targets = list(target.parameters()), and move all by one call under "
        "torch.no_grad(): torch._foreach_lerp_(targets, sources, tau)."
        + _AND_BUFFERS
        * update.is_of_states,
        confidence=Confidence.MEASURED if update.moved_by is MovedBy.SUM else Confidence.BOUNDED,
    )


def _places(
    updates: Mapping[str, Mapping[int, TargetUpdate]], moved_by: MovedBy
) -> dict[str, frozenset[int]]:
    """The lines of one kind of loop, by file."""
    return {
        file: frozenset(line for line, update in found.items() if update.moved_by is moved_by)
        for file, found in updates.items()
    }


def detect_in_trace(view: TraceView) -> Iterable[DeviceFinding]:
    stepping = CoveredTime(
        union(
            (row.ts, row.end)
            for row in view.trace.annotations
            if row.name.startswith(OPTIMIZER_STEP)
        )
    )
    # An optimizer in a Python loop mixes tensors, too (optimizer-not-fused).
    updates = [
        update
        for update in averages_by_parameter(view.outermost_ops, FEWEST_PARAMETERS)
        if not stepping.inside(*update.span)
    ]
    held = sum(update.span.length for update in updates)
    if not updates or held < MIN_TRACE_SHARE * view.wall.length:
        return
    parameters = sum(update.turns for update in updates)
    idle = view.idle_in(update.span for update in updates) * (1 - len(updates) / parameters)
    yield DeviceFinding(
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
        places=places_of_repeats(view, updates),
    )


_REMOVABLE: Final = {
    MovedBy.SUM: REMOVABLE,
    MovedBy.CALLS: CALLS_REMOVABLE,
    MovedBy.ONE_CALL: ONE_CALL_REMOVABLE,
}


DETECTOR: Final = Detector(
    id="target-update-per-parameter",
    name="target networks that are moved parameter by parameter",
    in_samples=InSamples(detect_in_samples, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
    in_trace=InTrace(detect_in_trace),
)
