"""Tell which findings of one run are in the other, and whether their price changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from rlprof.comparison.calltree import ChangeTree
from rlprof.comparison.sides import crowding_between
from rlprof.comparison.stacks import Stacks
from rlprof.model.finding import Confidence, PricedFinding, Range
from rlprof.model.profile import PhaseKind
from rlprof.model.report import Report
from rlprof.names import short_path
from rlprof.pace.rates import MIN_EFFECT

LEAST_SHARE: Final = 0.02
"""Saved share, at the least and in the run where it is larger, of a finding that changed: below it
detectors are silent, and a run may fall on either side of their threshold."""


class Fate(Enum):
    """Fate of a finding."""

    APPEARED = "appeared"
    GREW = "grew"
    SHRANK = "shrank"
    VANISHED = "vanished"
    UNCHANGED = "unchanged"
    """Its prices overlap."""
    UNCLEAR = "unclear"
    """One run has it alone, but its time changed by no more than noise, or it costs next to nothing."""


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding of one run or of both."""

    fate: Fate
    base: PricedFinding | None
    new: PricedFinding | None
    unit: str
    """Unit of the costs: ``step`` (µs per step), ``share`` (of steady time), ``run`` (µs of the whole run)."""
    base_cost: Range | None
    new_cost: Range | None

    @property
    def shown(self) -> PricedFinding:
        found = self.new or self.base
        assert found is not None, "a change is of a finding"
        return found


@dataclass(frozen=True, slots=True)
class _MatchedFinding:
    """A finding with what it is matched and judged by."""

    found: PricedFinding
    places: frozenset[tuple[str, str]]
    """(file, function) of its locations."""
    boxes: frozenset[int]
    """Where its time is in the merged tree; empty when not known."""


def finding_changes(
    base: Report,
    new: Report,
    tree: ChangeTree | None,
    stacks: tuple[Stacks | None, Stacks | None],
) -> tuple[FindingChange, ...]:
    """Every finding with a known cause, in either run: the worst news first, and then by cost."""
    places = (tree.base_places, tree.new_places) if tree is not None else ({}, {})
    of_base = _with_places(base, stacks[0], places[0])
    of_new = _with_places(new, stacks[1], places[1])
    per_step = all(report.throughput.steady_sps is not None for report in (base, new))
    changes = [
        _change(was, now, (base, new), tree, per_step=per_step)
        for was, now in _matched(of_base, of_new)
        if _is_known(was) or _is_known(now)
    ]
    order = list(Fate)
    return tuple(sorted(changes, key=lambda change: (order.index(change.fate), -_weight(change))))


def _with_places(
    report: Report, stacks: Stacks | None, in_tree: Mapping[int, int]
) -> list[_MatchedFinding]:
    nodes = dict(report.detail.finding_nodes) if report.detail is not None else {}
    of_node = stacks.box_of_node if stacks is not None else {}
    return [
        _MatchedFinding(
            found,
            frozenset(
                (short_path(location.file, report.run.cwd), location.function)
                for location in found.finding.locations
            ),
            frozenset(
                in_tree[box]
                for node in nodes.get(found.rank, ())
                for box in of_node.get(node, ())
                if box in in_tree
            ),
        )
        for found in (*report.findings, *report.also_seen)
    ]


def _matched(
    base: Sequence[_MatchedFinding], new: Sequence[_MatchedFinding]
) -> list[tuple[_MatchedFinding | None, _MatchedFinding | None]]:
    """By cause and place; then, for files are renamed, by cause and function; then by cause, where
    only one of each run is left.
    """
    left = [list(base), list(new)]
    found: list[tuple[_MatchedFinding | None, _MatchedFinding | None]] = []
    keys: tuple[Callable[[_MatchedFinding], Collection[object]], ...] = (
        lambda finding: finding.places,
        lambda finding: {function for _, function in finding.places},
    )
    for key in keys:
        for now in list(left[1]):
            same = (
                earlier
                for earlier in left[0]
                if _cause(earlier) == _cause(now) and not set(key(earlier)).isdisjoint(key(now))
            )
            was = next(same, None)
            if was is not None:
                left[0].remove(was)
                left[1].remove(now)
                found.append((was, now))
    for now in list(left[1]):
        same_cause = [
            [finding for finding in side if _cause(finding) == _cause(now)] for side in left
        ]
        if len(same_cause[0]) == len(same_cause[1]) == 1:
            left[0].remove(same_cause[0][0])
            left[1].remove(now)
            found.append((same_cause[0][0], now))
    return [
        *found,
        *((earlier, None) for earlier in left[0]),
        *((None, later) for later in left[1]),
    ]


def _cause(priced: _MatchedFinding) -> tuple[str, PhaseKind]:
    return priced.found.finding.detector, priced.found.finding.phase


def _is_known(priced: _MatchedFinding | None) -> bool:
    return priced is not None and priced.found.finding.confidence is not Confidence.SUSPECTED


def _change(
    was: _MatchedFinding | None,
    now: _MatchedFinding | None,
    reports: tuple[Report, Report],
    tree: ChangeTree | None,
    *,
    per_step: bool,
) -> FindingChange:
    shown = now or was
    assert shown is not None, "matching gives one at least"
    is_steady = shown.found.finding.phase is not PhaseKind.START_UP
    unit = ("step" if per_step else "share") if is_steady else "run"
    costs = [
        None if finding is None else _cost(finding.found, report, unit)
        for finding, report in zip((was, now), reports, strict=True)
    ]
    return FindingChange(
        fate=_fate(was, now, costs, tree, crowding=crowding_between(*reports)),
        base=None if was is None else was.found,
        new=None if now is None else now.found,
        unit=unit,
        base_cost=costs[0],
        new_cost=costs[1],
    )


def _cost(found: PricedFinding, report: Report, unit: str) -> Range:
    """With the uncertainty of the rate where it is per step."""
    if unit == "run":
        return found.saved_us
    sps = report.throughput.steady_sps
    if unit == "share" or sps is None:
        return found.saved_share
    low, high = found.saved_share
    return Range(low * 1e6 / max(sps.high, 1e-9), high * 1e6 / max(sps.low, sps.median / 10, 1e-9))


def _fate(
    was: _MatchedFinding | None,
    now: _MatchedFinding | None,
    costs: Sequence[Range | None],
    tree: ChangeTree | None,
    *,
    crowding: float,
) -> Fate:
    before, after = costs
    if was is not None and now is not None and before is not None and after is not None:
        alike = (tree.common_ratio if tree is not None else 1.0, crowding)
        # A slower machine makes all costs larger, and a quicker rest makes all shares larger.
        if _is_more(before, after, max(1.0, *alike)) and _is_worth_more(was.found, now.found):
            return Fate.GREW
        if _is_more(after, before, 1 / min(1.0, *alike)) and _is_worth_more(now.found, was.found):
            return Fate.SHRANK
        return Fate.UNCHANGED
    alone = now or was
    assert alone is not None, "one of both is there"
    if alone.found.saved_share.low < LEAST_SHARE or not _is_known(alone):
        return Fate.UNCLEAR
    if not _time_changed(alone, tree, more=was is None):
        return Fate.UNCLEAR
    return Fate.APPEARED if was is None else Fate.VANISHED


def _is_more(than: Range, value: Range, explained: float) -> bool:
    return value.low > than.high * explained * (1 + MIN_EFFECT)


def _is_worth_more(than: PricedFinding, value: PricedFinding) -> bool:
    """As a share of the time; of start-up, whose share is that of a run of any length, not compared."""
    if value.saved_share.low < LEAST_SHARE:
        return False
    is_steady = value.finding.phase is not PhaseKind.START_UP
    return not is_steady or _is_more(than.saved_share, value.saved_share, 1.0)


def _time_changed(priced: _MatchedFinding, tree: ChangeTree | None, *, more: bool) -> bool:
    """Tell whether some of the finding's time is clearly more (or less) than in the other run. A detector
    that falls silent for lack of evidence says nothing of the program. Of start-up, and where the
    places are not known, the price alone decides.
    """
    if tree is None or not priced.boxes or priced.found.finding.phase is not PhaseKind.STEADY:
        return True
    return any(
        tree.boxes[caller].is_clear and (tree.boxes[caller].change_us > 0) == more
        for caller in _with_callers(priced.boxes, tree)
    )


def _with_callers(boxes: Iterable[int], tree: ChangeTree) -> set[int]:
    """``boxes`` and what called them nearest: a cost that is spread over small functions is clear in
    their sum only.
    """
    nearest = {tree.boxes[box].parent for box in boxes}
    return {box for box in (*boxes, *nearest) if box >= 0}


def _weight(change: FindingChange) -> float:
    return max(sum(cost) for cost in (change.base_cost, change.new_cost) if cost is not None)
