"""Prices of what samples show: what fixing each finding is worth.

``docs/pricing.md`` tells the model in words, with the measurements behind it. In short: a finding
claims the self time of its nodes; a node belongs to one finding, the dearest; the claimed share of
the critical time, with the errors of sampling and of the instruments, times the part that the fix
removes, is the share saved; and the rate after the fix is the rate now over what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Final

from rlprof.model.activity import FOR_OTHERS
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree, Cost
from rlprof.model.finding import Confidence, Finding, PricedFinding, Range, Remainder
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import UNLOCATED
from rlprof.pricing.ranking import clip, rate_after

NEVER_WAITS: Final = 0.1
"""Part of their time that the critical threads wait for others, up to which they are what bounds the rate also on
full cores. A learner that saves at each update, while two actors compute for it and wait for it, has 0.6 of the
CPU time: of all CPU time saving was 0.06, of the learner's own 0.23, and without it 0.40 was saved."""

DESIGN_EFFECT: Final = 2.0
"""Samples count half: neighbours 10 ms apart often lie in the same rollout or update."""

PROBE_ERROR: Final = calibrated(
    0.2,
    unit="times p (1 - p)",
    source="a share of 0.82 was 0.849 in truth, 0.826 was 0.825",
    date="2026-11-21",
)
"""Error of the probe in a share p."""

PROBE_ERROR_MOST: Final = calibrated(
    0.03,
    unit="part of the critical time",
    source="no share was seen to be off by more",
    date="2026-11-21",
)
"""The same at most."""

KNOCK_ON: Final = calibrated(
    0.55,
    unit="part of the saved share",
    source="benchmarks/knock_on.py: 0.04 to 0.36, whatever the share, and 0.53 where a torch program prints at each step",
    date="2026-11-23",
)
"""Gain in speed of what is left, at most: it gets caches, branch predictors and the allocator to itself."""

CLOCK_ERROR: Final = calibrated(
    0.5,
    unit="times p (1 - p)",
    source="0.76 was told where 0.825 is true",
    date="2026-11-21",
)
"""As ``PROBE_ERROR`` for stacks read from outside: what is left besides the torn ones is skewed towards
shallow stacks."""

CLOCK_ERROR_MOST: Final = 0.1


@dataclass(frozen=True, slots=True)
class PriceBasis:
    """Basis that shares of one phase are measured against."""

    tree: CallTree
    whole_us: float
    """100 %: the critical time, or the run for start-up."""
    least_us: float
    """The same without what may go with the rest: 100 % for the upper end of a price."""
    timeline_us: float
    """The run's own time that 100 % stands for."""
    interval_us: float
    clock_only_share: float
    unlocated: frozenset[int]
    own_part: float
    """Part of the freed CPU time that the run itself gets, at least. Others on a full host take some,
    but no more than they have threads to run: a spin worth 0.38 of the run's CPU time saved 0.45
    beside a neighbour that kept one of two cores busy."""
    has_knock_on: bool
    """True if a fix changes how fast the rest runs: in a loop, not in a start-up done once."""
    of_its_own: PriceBasis | None = None
    """On full cores, the critical threads by themselves, where they hardly ever wait for others: theirs may be the
    time that counts, and not everybody's CPU time. The upper end of a price is the higher one."""

    @property
    def samples(self) -> float:
        """The number of samples that shares of it rest on, by ``DESIGN_EFFECT``."""
        return max(1.0, self.whole_us / max(1.0, self.interval_us)) / DESIGN_EFFECT


@dataclass(frozen=True, slots=True)
class Claim:
    """Time that a finding would sell now."""

    saved: Range
    """Share of what its phase is measured against."""
    nodes: frozenset[int]
    """That nobody has sold before."""


def touched(finding: Finding) -> frozenset[int]:
    """All nodes that the finding claims."""
    nodes = frozenset[int]().union(*(saving.nodes for saving in finding.savings))
    return nodes | finding.remainder.nodes if finding.remainder is not None else nodes


def without_nodes(profile: Profile, nodes: frozenset[int]) -> Profile:
    """``profile`` with no steady time left in ``nodes``: what no finding explains."""
    steady = profile.steady
    costs = {
        node: steady.self_cost(node)
        for node in steady.hot_nodes()
        if node not in nodes and steady.self_cost(node).wall_us
    }
    return replace(profile, steady=CallTree(steady.nodes, costs))


def samples_behind(profile: Profile) -> float:
    """Return how many samples the steady prices rest on."""
    return profile.critical.wall_us / max(1, profile.critical.sample_interval_us)


def measure_phase(profile: Profile, phase: PhaseKind) -> PriceBasis:
    """Warm-up and shutdown are no measure of their own: a claim there is worth nothing."""
    critical = profile.critical
    if phase is PhaseKind.STEADY:
        tree, whole = profile.steady, float(critical.wall_us)
        least = whole - critical.in_step_us
        timeline = float(profile.steady_us)
    else:
        tree = profile.start_up if phase is PhaseKind.START_UP else CallTree((), {})
        whole = least = timeline = float(profile.run.wall_us)
    unlocated = frozenset(
        node
        for node in tree.hot_nodes()
        if tree.frame(node).function in UNLOCATED and tree.self_cost(node).wall_us
    )
    return PriceBasis(
        tree=tree,
        whole_us=whole,
        least_us=least,
        timeline_us=timeline,
        interval_us=critical.sample_interval_us,
        clock_only_share=critical.clock_only_share,
        unlocated=unlocated,
        own_part=(1 + profile.load.own_part) / 2 if phase is PhaseKind.STEADY else 1.0,
        has_knock_on=phase is PhaseKind.STEADY,
        of_its_own=_measure_critical(profile) if phase is PhaseKind.STEADY else None,
    )


def _measure_critical(profile: Profile) -> PriceBasis | None:
    """The critical threads by their own clocks.

    None where there are free cores, and where these threads wait for others, or are not there all the time.
    """
    critical = [activity for activity in profile.activities if activity.is_critical]
    wall = sum(activity.wall_us for activity in critical)
    threads = {activity.thread for activity in critical}
    waited = sum(
        wait.wall_us for wait in profile.waits if wait.thread in threads and wait.kind in FOR_OTHERS
    )
    there = profile.steady_us * len(critical)
    if not profile.load.saturated or not wall or wall - waited < (1 - NEVER_WAITS) * there:
        return None
    costs: dict[int, Cost] = {}
    for thread in critical:
        for node, cost in thread.tree.self_costs():
            costs[node] = costs.get(node, Cost()).plus(cost)
    return PriceBasis(
        tree=CallTree(profile.steady.nodes, costs),
        whole_us=wall,
        least_us=wall,
        timeline_us=profile.steady_us,
        interval_us=profile.critical.sample_interval_us,
        clock_only_share=profile.critical.clock_only_share,
        unlocated=frozenset(),
        own_part=1.0,
        has_knock_on=True,
    )


def claim_of(finding: Finding, measure: PriceBasis, sold: frozenset[int]) -> Claim:
    if finding.remainder is not None:
        return _price_of_change(finding.remainder, measure, sold)
    claim = _claim_by(finding, measure, sold)
    if measure.of_its_own is None:
        return claim
    most = _claim_by(finding, measure.of_its_own, sold).saved.high
    return replace(claim, saved=Range(claim.saved.low, max(claim.saved.high, most)))


def _claim_by(finding: Finding, measure: PriceBasis, sold: frozenset[int]) -> Claim:
    claimed: set[int] = set(sold)
    claimed_us = low_us = high_us = work_us = 0.0
    for saving in finding.savings:
        nodes = saving.nodes - claimed
        claimed |= nodes
        costs = [measure.tree.self_cost(node) for node in nodes]
        wall = sum(cost.wall_us for cost in costs)
        claimed_us += wall
        low_us += wall * saving.removable.low
        high_us += wall * saving.removable.high
        work_us += sum(cost.busy_us for cost in costs) * saving.removable.high
    own = frozenset(claimed - sold)
    if not claimed_us or not measure.whole_us:
        return Claim(Range(0.0, 0.0), own)
    share = _observed_share(claimed_us, measure, own)
    low = share.low * low_us / claimed_us * measure.own_part
    high = share.high * high_us / claimed_us
    if measure.has_knock_on:
        # Of what was seen to work: waits fill no caches, nor does what cannot be told apart.
        part = clip(work_us / measure.least_us)
        low = 1 - (1 - low) * (1 - clip(finding.slows_rest.low * part))
        high = 1 - (1 - high) * (1 - clip(max(KNOCK_ON, finding.slows_rest.high) * part))
    return Claim(Range(clip(low), clip(high)), own)


def _price_of_change(change: Remainder, measure: PriceBasis, sold: frozenset[int]) -> Claim:
    """Return the claim of a change that leaves something else in place of what it takes away.

    What is left is a sum of measured parts, so it has the errors of a share of its own, which have nothing to do
    with how well the parts are known.

    Of a change whose time is partly sold already, that part of the gain is sold with it.
    """
    own = change.nodes - sold
    touched = measure.tree.cost_of(change.nodes).wall_us
    unsold = measure.tree.cost_of(own).wall_us
    if not unsold or not measure.whole_us:
        return Claim(Range(0.0, 0.0), own)
    part = unsold / touched
    most, least = clip(1 - change.left.low), clip(1 - change.left.high)
    middle, half = (most + least) / 2, (most - least) / 2
    low = middle - sqrt(half**2 + _error_of(least, measure) ** 2)
    high = middle + sqrt(half**2 + _error_of(most, measure) ** 2)
    return Claim(Range(clip(low * part), clip(high * part)), own)


def _error_of(share: float, measure: PriceBasis) -> float:
    """Sampling and instrument error of a measured share, one side."""
    bounds = Range.of_share(share, measure.samples)
    spread = (bounds.high - bounds.low) / 2
    return sqrt(spread**2 + _instrument_error(share, measure) ** 2)


def _observed_share(claimed_us: float, measure: PriceBasis, own: frozenset[int]) -> Range:
    """The claimed share with its errors; time of unknown lines may or may not be the claim's."""
    seen = min(1.0, claimed_us / measure.whole_us)
    unlocated_us = measure.tree.cost_of(measure.unlocated - own).busy_us
    most = min(1.0, (claimed_us + unlocated_us) / measure.least_us)
    below = seen - Range.of_share(seen, measure.samples).low
    above = Range.of_share(most, measure.samples).high - most
    low = seen - sqrt(below**2 + _instrument_error(seen, measure) ** 2)
    high = most + sqrt(above**2 + _instrument_error(most, measure) ** 2)
    ceiling = measure.tree.total.wall_us / measure.least_us
    return Range(max(0.0, low), min(1.0, ceiling, high))


def _instrument_error(share: float, measure: PriceBasis) -> float:
    spread = share * (1 - share)
    probe = min(PROBE_ERROR_MOST, PROBE_ERROR * spread)
    clock = min(CLOCK_ERROR_MOST, CLOCK_ERROR * spread)
    return probe + (clock - probe) * measure.clock_only_share


def priced(finding: Finding, claim: Claim, profile: Profile, measure: PriceBasis) -> PricedFinding:
    """``finding`` at the price of its ``claim``, not ranked yet."""
    saved = claim.saved
    rate = profile.throughput.rate_to_price
    after = None
    if rate is not None and finding.phase is PhaseKind.STEADY and finding.tells_rate:
        after = rate_after(rate, saved)
    roles = {role for node in claim.nodes for role in profile.node_roles.get(node, frozenset())}
    if measure.least_us < measure.whole_us and finding.confidence is Confidence.MEASURED:
        # How long a crowded team waits differs tenfold from run to run, and with what is fixed.
        finding = replace(finding, confidence=Confidence.BOUNDED)
    return PricedFinding(
        finding=finding,
        rank=0,
        saved_share=saved,
        sps_after=after,
        saved_us=saved.scaled(measure.timeline_us),
        process_roles=tuple(sorted(roles)),
    )
