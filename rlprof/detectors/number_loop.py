"""Many numbers that a loop of Python goes through one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.number_loops import NumberLoop, NumberLoops
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import UserLines, short_place
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.03
"""Least share of the critical time, in these loops."""

MANY: Final = 256
"""Numbers from which on arrays take next to nothing beside the loop."""

OF_FEW: Final = calibrated(
    Range(0.5, 0.9),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, numpy 2.4: of 64 and 128 numbers 0.11 to 0.44 is left",
    date="2026-11-26",
)
"""Part that goes with operations on whole arrays."""

OF_MANY: Final = calibrated(
    Range(0.8, 0.98),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, numpy 2.4: of 256 to 1 000 numbers 0.03 to 0.13 is left",
    date="2026-11-26",
)
"""The same of many."""

OF_A_DICT: Final = 0.5
"""Least part that goes where they are in a dictionary: an array may have to hold a place for each key there can be. By reason."""


def detect(profile: Profile) -> Iterable[Finding]:
    whole, tree = profile.critical.wall_us, profile.steady
    lines = UserLines(tree, profile.sources, profile.started_package)
    loops = NumberLoops(profile, lines).found()
    weights = {it.place: sum(tree.self_cost(node).wall_us for node in it.nodes) for it in loops}
    total = sum(weights.values())
    if not whole or total < MIN_SHARE * whole:
        return
    heaviest = max(loops, key=lambda it: weights[it.place])
    yield Finding(
        title=f"numbers are gone through one by one in Python ({short_place(heaviest.place)})",
        savings=tuple(Saving(frozenset(it.nodes), _removable(it)) for it in loops),
        locations=lines.shown_locations(weights, whole),
        evidence=(
            f"{percent(total / whole)} of the steady time is spent in the loop"
            + of_each_step(total, profile.steady_steps),
            f"it goes through {heaviest.numbers.container}",
            "its turns do arithmetic, and none needs what another one has computed",
        ),
        fix="Keep them in arrays of numpy's, and let one operation work on all: weights += step * traces; traces *= decay. What is in a "
        "dictionary takes an array with a place for each key.",
        confidence=Confidence.BOUNDED,
    )


def _removable(loop: NumberLoop) -> Range:
    part = OF_MANY if loop.numbers.many >= MANY else OF_FEW
    return Range(min(part.low, OF_A_DICT), part.high) if loop.numbers.is_dict else part


DETECTOR: Final = Detector(
    id="number-loop",
    name="numbers that a loop of Python goes through one by one",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
