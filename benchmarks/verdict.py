"""What a report said about a program, set against what the fix really saved.

All shares are of time per step: a saved share of 0.75 makes training four times as fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median, stdev
from typing import Any, NamedTuple

FALSE_FROM = 0.03
"""Upper end of a saved share from which a finding that does not belong there counts as false."""

QUIET = 0.01
"""What a report says of a cause that it does not list: less than this (see docs/pricing.md)."""

UNKNOWN_CAUSE = "suspected"
"""Confidence of a finding that only says where time goes. It promises nothing."""

STARTED_ONCE = "startup-bound"
"""Programs of ten seconds are bound by their start-up to a good part, and may be told so."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a report should say of one program."""

    finding: str
    """Id of the detector, or nothing for a healthy program."""
    allowed: frozenset[str]
    """Further causes that the program has too, so that naming them is not false."""
    worth_nothing: bool = False
    """Whether the cause is there but costs nothing, and must not be listed."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one report said."""

    low: float
    high: float
    likely: float
    rank: int | None
    """Of the right finding among the listed of its phase, from 1; None when it is not listed."""
    false: tuple[str, ...]
    """Listed causes that the program has not, with their shares, in words."""
    listed: tuple[str, ...]
    """Ids of all listed findings, in their order."""


def read_prediction(report: Mapping[str, Any], expected: Expectation) -> Prediction:
    """What the JSON ``report`` says about the ``expected`` finding and about others."""
    listed = report["findings"]
    quiet = report.get("also_seen", [])
    low, high, likely = 0.0, QUIET, QUIET / 2
    rank = None
    for finding in [*listed, *quiet]:
        if finding["id"] == expected.finding:
            low, high = finding["saved_share"]["low"], finding["saved_share"]["high"]
            likely = finding["likely_share"]
            of_phase = [other for other in listed if other["phase"] == finding["phase"]]
            rank = of_phase.index(finding) + 1 if finding in listed else None
            break
    return Prediction(
        low=low,
        high=high,
        likely=likely,
        rank=rank,
        false=tuple(_in_words(finding) for finding in listed if _is_false(finding, expected)),
        listed=tuple(finding["id"] for finding in listed),
    )


def _is_false(finding: Mapping[str, Any], expected: Expectation) -> bool:
    belongs = {STARTED_ONCE, *expected.allowed}
    if not expected.worth_nothing:
        belongs.add(expected.finding)
    known = finding["confidence"] != UNKNOWN_CAUSE
    return known and finding["id"] not in belongs and finding["saved_share"]["high"] >= FALSE_FROM


def _in_words(finding: Mapping[str, Any]) -> str:
    share = finding["saved_share"]
    return f"{finding['id']} [{share['low']:.2f}, {share['high']:.2f}]"


class Run(NamedTuple):
    """One run without rlprof."""

    rate: float
    """Steps per second, or whatever else is more when the program is faster."""
    neighbours: float
    """Cores that other programs took meanwhile."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Saved share of each pair of runs, before and after the fix."""

    savings: tuple[float, ...]
    neighbours: float
    """Cores that other programs took meanwhile, in the median of the runs."""

    @classmethod
    def of(cls, pairs: Sequence[tuple[Run, Run]]) -> Measured:
        """``pairs`` are (before, after)."""
        savings = tuple(1 - before.rate / after.rate for before, after in pairs)
        return cls(savings, median(run.neighbours for pair in pairs for run in pair))

    @property
    def median(self) -> float:
        return median(self.savings)

    @property
    def uncertainty(self) -> float:
        """Standard error of the median, of normal errors: sqrt(π / 2) times that of the mean."""
        if len(self.savings) < 2:
            return 0.0
        return 1.2533 * stdev(self.savings) / sqrt(len(self.savings))


@dataclass(frozen=True, slots=True)
class Verdict:
    """One program judged."""

    name: str
    expected: Expectation
    predictions: tuple[Prediction, ...]
    measured: Measured | None
    """None for a healthy program: there is no fix to measure."""

    @property
    def low(self) -> float:
        return median(prediction.low for prediction in self.predictions)

    @property
    def high(self) -> float:
        return median(prediction.high for prediction in self.predictions)

    @property
    def error(self) -> float:
        """Likely saving as predicted less the measured one, in percentage points."""
        assert self.measured is not None
        likely = median(prediction.likely for prediction in self.predictions)
        return 100 * (likely - self.measured.median)

    @property
    def is_in_range(self) -> bool:
        """Whether the measured saving is in the predicted range, widened by what the
        measurement itself does not know.
        """
        assert self.measured is not None
        unknown = self.measured.uncertainty
        return self.low - unknown <= self.measured.median <= self.high + unknown

    @property
    def rank(self) -> int | None:
        """The worst of all recordings."""
        ranks = [prediction.rank for prediction in self.predictions]
        known = [rank for rank in ranks if rank is not None]
        return max(known) if known and len(known) == len(ranks) else None

    @property
    def is_within(self) -> bool:
        """Whether it is among the first three; a cause that costs nothing must not be listed."""
        return self._is_ranked(3)

    @property
    def is_first(self) -> bool:
        return self._is_ranked(1)

    def _is_ranked(self, last: int) -> bool:
        if self.expected.worth_nothing:
            return all(prediction.rank is None for prediction in self.predictions)
        return self.rank is not None and self.rank <= last

    @property
    def false(self) -> tuple[str, ...]:
        """What any of the recordings said that is not so."""
        return tuple(
            sorted({cause for prediction in self.predictions for cause in prediction.false})
        )


@dataclass(frozen=True, slots=True)
class Total:
    """One target and what was reached of it."""

    what: str
    reached: str
    target: str
    is_met: bool


def totals(pairs: Sequence[Verdict], innocents: Sequence[Verdict]) -> list[Total]:
    """The targets of the project, over all programs."""
    rows = []
    if pairs:
        errors = [abs(pair.error) for pair in pairs]
        rows = [
            _share("right finding first", [pair.is_first for pair in pairs], 0.9),
            _share("right finding in the first three", [pair.is_within for pair in pairs], 1.0),
            _share("measured in the predicted range", [pair.is_in_range for pair in pairs], 0.8),
            _points("median error", median(errors), 5.0),
            _points("worst error", max(errors), 15.0),
            _share("pairs without a false finding", [not pair.false for pair in pairs], 1.0),
        ]
    if innocents:
        clean = [not innocent.false for innocent in innocents]
        rows.append(_share("innocents without a finding", clean, 1.0))
    return rows


def _share(what: str, answers: Sequence[bool], target: float) -> Total:
    reached = sum(answers) / len(answers)
    words = f"{sum(answers)} of {len(answers)} ({100 * reached:.0f} %)"
    return Total(what, words, f"≥ {100 * target:.0f} %", reached >= target)


def _points(what: str, value: float, target: float) -> Total:
    return Total(what, f"{value:.1f} points", f"≤ {target:g} points", value <= target)
