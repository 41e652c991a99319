"""Target networks that are moved parameter by parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from rlprof.analysis.source.lines import Line, UserLines, short_place
from rlprof.analysis.source.target_updates import TargetUpdate, target_updates
from rlprof.analysis.torch_time import torch_time
from rlprof.detectors.base import Detector, Need
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import PhaseKind, Profile
from rlprof.units import duration, percent

MIN_SHARE: Final = 0.02
"""Of the critical time: twice what a report lists."""

REMOVABLE: Final = Range(0.67, 0.93)
"""Part of the loop that ``torch._foreach_lerp_`` saves where each parameter takes several operations.
Measured with torch 2.13 on one thread (``benchmarks/replacements.py``): ``copy_`` of a sum for the 6 parameters
of two layers of 64 73 µs, ``mul_`` and ``add_`` 61, and 4 instead; of 256 104, 78 and 10.
Lists that are made anew each time leave some more."""

ONE_CALL_REMOVABLE: Final = Range(0.2, 0.85)
"""The same where it takes one, ``lerp_`` or ``copy_``: of two layers of 64 28 µs and 4 instead, of 256 33 and
10, of 2.5 million numbers 0.75 is left."""

SHOWN_LINES: Final = 4


def detect(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    lines = UserLines(tree, profile.sources, profile.started_package)
    updates = {file: target_updates(text) for file, text in profile.sources.items()}
    several, one = (
        torch_time(tree, lines, _places(updates, in_one_call=it)) for it in (False, True)
    )
    weights = {**several.weights, **one.weights}
    total = sum(weights.values())
    if not whole or total < MIN_SHARE * whole:
        return
    heaviest = max(weights, key=lambda line: (weights[line], line))
    loop = Line(heaviest.file, updates[heaviest.file][heaviest.line].line, "")
    each = f", {duration(total / profile.steady_steps)} a step" if profile.steady_steps else ""
    yield Finding(
        detector=DETECTOR.id,
        title=f"a target network is moved parameter by parameter ({short_place(loop)})",
        phase=PhaseKind.STEADY,
        savings=tuple(
            Saving(time.nodes, removable)
            for time, removable in ((several, REMOVABLE), (one, ONE_CALL_REMOVABLE))
            if time.nodes
        ),
        locations=lines.locations(weights, whole)[:SHOWN_LINES],
        evidence=(
            f"{percent(total / whole)} of the steady time is spent in that loop{each}",
            "the source shows a Python loop over the parameters of two networks",
        ),
        fix="Make the lists once, targets = list(target.parameters()), and move all by one call under "
        "torch.no_grad(): torch._foreach_lerp_(targets, sources, tau).",
        confidence=Confidence.MEASURED,
    )


def _places(
    updates: Mapping[str, Mapping[int, TargetUpdate]], *, in_one_call: bool
) -> dict[str, frozenset[int]]:
    """The lines of one kind of loop, by file."""
    return {
        file: frozenset(line for line, it in found.items() if it.in_one_call is in_one_call)
        for file, found in updates.items()
    }


DETECTOR: Final = Detector(
    id="target-update-per-parameter",
    name="target networks that are moved parameter by parameter",
    needs=frozenset({Need.SAMPLES, Need.SOURCES}),
    detect=detect,
)
