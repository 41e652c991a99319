"""The sale of a run's time: every finding is paid from what no other has sold.

Findings of samples sell the self time of nodes of the call tree, each node once; what windows of torch's profiler show is
paid from the part of the steady time that is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rlprof.model.finding import Confidence, Finding, PricedFinding, Range
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import SyncSite
from rlprof.pricing.ranking import WORTH_LISTING, Priced, is_worth_listing, ranked, worth
from rlprof.pricing.samples import Claim, claim_of, measure_phase, priced, touched
from rlprof.pricing.windows import SeenInWindows


class Sale:
    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._measures = {phase: measure_phase(profile, phase) for phase in PhaseKind}
        self._sellers: dict[PhaseKind, dict[int, int]] = {phase: {} for phase in PhaseKind}
        """The rank of who sold a node, by the node; 0 for one that is not shown."""
        self._entries: list[PricedFinding] = []
        """In the order of sale, which is their rank until all are sold."""

    def sell(self, findings: Iterable[Finding]) -> None:
        """The dearest of them first, each time anew: what one sells lessens the others. A general one waits for those that are of its work."""
        rest = list(findings)
        while rest:
            claims = [
                claim_of(
                    unsold, self._measures[unsold.phase], frozenset(self._sellers[unsold.phase])
                )
                for unsold in rest
            ]
            by_worth = sorted(
                range(len(rest)), key=lambda i: (*worth(rest[i], claims[i].saved), -i), reverse=True
            )
            best = next(i for i in by_worth if not self._waits(rest[i], rest, claims))
            finding, claim = rest.pop(best), claims[best]
            entry = self._priced(finding, claim)
            rank = 0
            if is_worth_listing(entry) or finding.confidence is not Confidence.SUSPECTED:
                rank = self._enter(replace(entry, counted_in=self._seller_of(finding)))
            self._sellers[finding.phase].update(dict.fromkeys(claim.nodes, rank))

    def _waits(self, general: Finding, rest: Sequence[Finding], claims: Sequence[Claim]) -> bool:
        """Tell whether a general finding is to be sold after one of the ``rest``."""
        return general.is_general and any(
            self._is_within(finding, claim, general)
            for finding, claim in zip(rest, claims, strict=True)
        )

    def _is_within(self, finding: Finding, claim: Claim, general: Finding) -> bool:
        """Tell whether a known cause is worth something, and most of its time is in the work of a general one."""
        if (
            finding.is_general
            or finding.phase is not general.phase
            or finding.confidence is Confidence.SUSPECTED
            or claim.saved.high < WORTH_LISTING
        ):
            return False
        tree = self._measures[finding.phase].tree
        inside = tree.cost_of(claim.nodes & touched(general)).wall_us
        return 2 * inside > tree.cost_of(claim.nodes).wall_us

    def _priced(self, finding: Finding, claim: Claim) -> PricedFinding:
        """At the price of its fix by itself, and at ``claim`` besides those that were sold before."""
        measure = self._measures[finding.phase]
        alone = claim_of(finding, measure, frozenset())
        entry = priced(finding, alone, self._profile, measure)
        return entry if alone == claim else replace(entry, besides=claim.saved)

    def sell_windows(self, seen: Sequence[SeenInWindows], sites: Sequence[SyncSite]) -> None:
        """``seen`` with the heaviest first. Of a cause that samples have sold it is one more kind of evidence."""
        by_samples = self._sold()
        left = 1 - by_samples
        known = {entry.finding.detector: place for place, entry in self._from_last_to_first()}
        for each in seen:
            if each.detector in known:
                place = known[each.detector]
                self._entries[place] = each.added_to(self._entries[place])
                continue
            # Lines of the host that the GPU waits for may be sold already.
            most = min(left, each.share.high - (by_samples if each.is_host_work else 0.0))
            most = max(0.0, most)
            entry = each.priced(Range(min(each.share.low, most), most), self._profile, sites)
            self._enter(entry)
            left -= most if is_worth_listing(entry) else 0.0

    def ranking(self) -> Priced:
        """Return what was sold so far."""
        return ranked(self._entries)

    def nodes_sold(self, phase: PhaseKind) -> frozenset[int]:
        """Those that listed findings of ``phase`` claim, whoever sold them."""
        return frozenset(
            node
            for entry in self._entries
            if is_worth_listing(entry) and entry.finding.phase is phase
            for node in touched(entry.finding)
        )

    def _enter(self, entry: PricedFinding) -> int:
        rank = len(self._entries) + 1
        self._entries.append(replace(entry, rank=rank))
        return rank

    def _from_last_to_first(self) -> Iterator[tuple[int, PricedFinding]]:
        """Yield the entries from the last to the first of the ranking, each with its place in the sale."""
        places = {id(entry.finding): place for place, entry in enumerate(self._entries)}
        ranking = self.ranking()
        for entry in reversed([*ranking.listed, *ranking.also_seen]):
            yield places[id(entry.finding)], entry

    def _sold(self) -> float:
        """Part of the steady time that listed findings of a known cause have sold, at most."""
        return min(
            1.0,
            sum(
                entry.added_share.high
                for entry in self._entries
                if is_worth_listing(entry)
                and entry.finding.confidence is not Confidence.SUSPECTED
                and entry.finding.phase is PhaseKind.STEADY
            ),
        )

    def _seller_of(self, finding: Finding) -> int | None:
        """Return who sold most of the finding's time before it; None where less than half of it was sold."""
        sellers, tree = self._sellers[finding.phase], self._measures[finding.phase].tree
        sold_us: dict[int, int] = {}
        whole_us = 0
        for node in touched(finding):
            wall_us = tree.self_cost(node).wall_us
            whole_us += wall_us
            if node in sellers:
                sold_us[sellers[node]] = sold_us.get(sellers[node], 0) + wall_us
        if not whole_us or 2 * sum(sold_us.values()) < whole_us:
            return None
        return max(sold_us, key=lambda seller: (sold_us[seller], -seller))


def price(findings: Iterable[Finding], profile: Profile) -> Priced:
    """Return what ``findings`` of samples come to where nothing else is sold."""
    sale = Sale(profile)
    sale.sell(findings)
    return sale.ranking()
