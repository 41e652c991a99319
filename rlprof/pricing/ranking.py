"""The ranking of findings, whatever they were priced from, and what their fixes come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from rlprof.model.finding import Confidence, Finding, PricedFinding, Range
from rlprof.model.profile import PhaseKind

WORTH_LISTING: Final = 0.01
"""Saved share below which a finding is not worth a researcher's time."""

LEAST_OF_GENERAL: Final = 0.05
"""The same of a general finding of which others have sold half and more: it says no more than they do. By reason."""

UNSURE: Final = 0.5
"""Part of its worth that a finding has where it may save nothing. A sleep that others wait for (up to 0.89) comes before weights that are sent
(0.01 to 0.05), and up to 0.08 of an optimizer's steps after them. Looked up by hand in 73 recordings of 2026-11-26 to 28, it changes in none which finding is the first."""

MOST_SAVED: Final = 0.99
"""No fix is promised to make training more than a hundred times faster."""


MOST_MEASURED: Final = 0.9999
"""The same where a try has told: ten thousand times as fast is as good as free."""


@dataclass(frozen=True, slots=True)
class Priced:
    listed: tuple[PricedFinding, ...]
    """Worth fixing, the dearest first."""
    also_seen: tuple[PricedFinding, ...]
    """Findings of a known cause, and worth (nearly) nothing."""


def is_worth_listing(entry: PricedFinding) -> bool:
    is_rest = entry.finding.is_general and 2 * entry.added_share.high < entry.saved_share.high
    return entry.added_share.high >= (LEAST_OF_GENERAL if is_rest else WORTH_LISTING)


def ranked(entries: Sequence[PricedFinding]) -> Priced:
    """Numbered through. What ``counted_in`` names must have a rank already, and only listed findings stay named."""
    listed = sorted(filter(is_worth_listing, entries), key=_by_worth, reverse=True)
    also_seen = [entry for entry in entries if not is_worth_listing(entry)]
    new_ranks = {entry.rank: rank for rank, entry in enumerate(listed, start=1)}
    numbered = [
        replace(entry, rank=rank, counted_in=new_ranks.get(entry.counted_in or 0))
        for rank, entry in enumerate([*listed, *also_seen], start=1)
    ]
    return Priced(tuple(numbered[: len(listed)]), tuple(numbered[len(listed) :]))


def _by_worth(entry: PricedFinding) -> tuple[bool, bool, float]:
    """Shares of two bases are not compared: known causes that cost steady time come first, then those of the start-up,
    which is paid once.
    """
    known, share = worth(entry.finding, entry.added_share)
    return known, entry.finding.phase is PhaseKind.STEADY, share


def worth(finding: Finding, saved: Range) -> tuple[bool, float]:
    """Return what findings are ranked by: a known cause first, then by what is saved, which counts half where nothing is sure to be."""
    known = finding.confidence is not Confidence.SUSPECTED
    return known, cautious_mean(saved) * (1.0 if saved.low >= WORTH_LISTING else UNSURE)


def cautious_mean(saved: Range) -> float:
    """Return the mean of what may be saved, the lower end counting twice; in the unit of ``saved``.

    Findings are ranked by it, since what is sure to be saved weighs more. By the lower end alone a cause whose fix is
    less well known would come after a lesser one.
    """
    return (2 * saved.low + saved.high) / 3


def clip(share: float, most: float = MOST_SAVED) -> float:
    """A share of the time that may be promised."""
    return min(most, max(0.0, share))


def rate_after(rate: float, saved: Range, most: float = MOST_SAVED) -> Range:
    """Steps per second once ``saved`` of the time per step is gone, ``most`` of it at most. The range is of the ratio: now and
    after are compared on the same machine and day.
    """
    return Range(rate / (1 - clip(saved.low, most)), rate / (1 - clip(saved.high, most)))


def most_saved(findings: Sequence[PricedFinding]) -> float:
    """Return the share that may be promised of them: more where a gain was measured."""
    are_tried = any(f.finding.confidence is Confidence.TRIED for f in findings)
    return MOST_MEASURED if are_tried else MOST_SAVED


def times_as_fast(saved: float) -> float:
    """Return how many times the rate is where ``saved`` of the time per step is gone, as it was measured; below 1 for what makes it slower."""
    return 1 / (1 - min(MOST_MEASURED, saved))


def saved_together(findings: Sequence[PricedFinding]) -> Range:
    """Return what the fixes of several findings save of the same time.

    No time is sold twice, so shares add up. Their upper ends do not: where one is true, less is left
    for the others than they were priced at. What was tried was measured by itself, and may hold time that others sell:
    of its lower end and theirs the higher one is sure.
    """
    tried = [f.added_share.low for f in findings if f.finding.confidence is Confidence.TRIED]
    told = [f.added_share.low for f in findings if f.finding.confidence is not Confidence.TRIED]
    low = max([*tried, sum(told)])
    middle = sum((finding.added_share.low + finding.added_share.high) / 2 for finding in findings)
    most = most_saved(findings)
    left = prod(1 - clip(finding.added_share.high, most) for finding in findings)
    return Range(clip(low, most), clip(max(low, middle, 1 - left), most))
