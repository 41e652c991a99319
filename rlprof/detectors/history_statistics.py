"""Statistics computed anew, again and again, of all that was gathered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.arrays.history_sums import HistorySum, HistorySums
from rlprof.detectors.recognisers.line_time import own_time
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import UserLines

MIN_SHARE: Final = 0.03
"""Least share of the critical time, on these lines."""

OF_SUMS: Final = calibrated(
    Range(0.85, 1.0),
    unit="part of the line's time",
    source="benchmarks/replacements.py: of lists of 200 to 5 000 numbers 0.00 to 0.10 is left",
    date="2026-11-26",
)
"""Part that goes where a running sum, and one of squares, tell all."""

OF_ARRAYS: Final = calibrated(
    Range(0.5, 1.0),
    unit="part of the line's time",
    source="benchmarks/replacements.py, numpy 2.4: of 2 000 to 100 000 rows 0.00 to 0.43 is left",
    date="2026-11-26",
)
"""The same of an array that is written row by row."""

IN_ORDER: Final = Range(0.5, 1.0)
"""The same of what takes the elements in their order: a sorted list, or the best so far, is kept up to date. By reason."""

LEAST_US_OF_A_NUMBER: Final = calibrated(
    0.0002,
    unit="µs",
    source="benchmarks/replacements.py, numpy 2.4: means of columns take 0.0002 to 0.02 for each number of 2 000 to 100 000 rows",
    date="2026-11-26",
)
"""Least time that a mean takes for each number of an array: it is told where steps take as much, so that each takes one, or nearly."""

_LONGEST_NAME: Final = 16

BESIDE_OTHERS: Final = 0.3
"""Part that goes at least where the line calls something else, too."""


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    sums = [each for each in HistorySums(profile, lines).found() if _is_of_each_step(profile, each)]
    time = own_time(profile, lines, sums, MIN_SHARE)
    if time is None:
        return
    told = time.most.statistic
    yield Finding(
        title=f"{told.name} of all of {_shortened(told.container)}, each time ({time.place})",
        savings=tuple(
            Saving(frozenset(history_sum.nodes), _removable(history_sum)) for history_sum in sums
        ),
        locations=time.locations,
        evidence=(
            time.share_spent("there"),
            f"it goes through {told.container} each time: {told.value.in_words()}, which is "
            + ("written row by row" if told.value.is_array else "added to"),
        ),
        fix="Keep what it comes to up to date: add each new value to a running sum (and its square to another for a deviation), and take off what a deque lets go. For "
        "order statistics keep a sorted list (bisect.insort) or the best so far.",
        confidence=Confidence.BOUNDED,
    )


def _is_of_each_step(profile: Profile, found: HistorySum) -> bool:
    """Tell whether an array is gone through at nearly each step, where a running sum has a row to add: of a list it was seen how it grows."""
    value = found.statistic.value
    if not value.is_array:
        return True
    spent_us = profile.steady.cost_of(found.nodes).wall_us
    least_us = profile.steady_steps * (value.numbers or 0) * LEAST_US_OF_A_NUMBER
    return 0 < least_us <= spent_us


def _shortened(container: str) -> str:
    return container if len(container) <= _LONGEST_NAME else "a history"


def _removable(found: HistorySum) -> Range:
    part = OF_SUMS if found.statistic.is_running else IN_ORDER
    if found.statistic.value.is_array:
        part = OF_ARRAYS
    if found.statistic.is_kept_too:
        return Range(0.0, part.high)
    return part if found.statistic.is_alone else Range(BESIDE_OTHERS, part.high)


DETECTOR: Final = Detector(
    id="history-statistics",
    name="statistics computed anew of all that was gathered",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
