"""Many numbers that a loop of Python goes through one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import own_time
from rlprof.detectors.recognisers.number_loops import NumberLoop, NumberLoops
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import UserLines

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

OF_MADE_ANEW: Final = 0.0
"""Least part that goes where each time another list is gone through: to turn 64 numbers into an array, and back, takes as long as the loop."""

OF_A_DICT: Final = 0.5
"""Least part that goes where they are in a dictionary: an array may have to hold a place for each key there can be. By reason."""


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    loops = NumberLoops(profile, lines).found()
    time = own_time(profile, lines, loops, MIN_SHARE)
    if time is None:
        return
    yield Finding(
        title=f"numbers are gone through one by one in Python ({time.place})",
        savings=tuple(Saving(frozenset(loop.nodes), _removable(loop)) for loop in loops),
        locations=time.locations,
        evidence=(
            time.share_spent("in the loop"),
            f"it goes through {time.most.numbers.container}",
            "its turns do arithmetic, and none needs what another one has computed",
        ),
        fix="Keep them in arrays of numpy's, and let one operation work on all: weights += step * traces; traces *= decay. What is in a "
        "dictionary takes an array with a place for each key.",
        confidence=Confidence.BOUNDED,
    )


def _removable(loop: NumberLoop) -> Range:
    part = OF_MANY if loop.numbers.many >= MANY else OF_FEW
    if not loop.numbers.is_kept:
        return Range(OF_MADE_ANEW, part.high)
    return Range(min(part.low, OF_A_DICT), part.high) if loop.numbers.is_dict else part


DETECTOR: Final = Detector(
    id="number-loop",
    name="numbers that a loop of Python goes through one by one",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
