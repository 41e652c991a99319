"""Critical threads asleep because another holds the lock that they want."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from rlprof.analysis.source.lines import Line, UserLines, short_place
from rlprof.analysis.source.waiting import locked_lines
from rlprof.detectors.base import Detector, Need
from rlprof.model.activity import WaitKind
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import NO_PARENT
from rlprof.units import percent

MIN_SHARE: Final = 0.01
"""Of the critical time. An uncontended lock is taken in under 1 µs and is hardly ever seen asleep."""

REMOVABLE: Final = Range(0.7, 1.0)
"""Part of the wait that goes: all of it when the lock is taken once per batch or not shared at all
(0.533 was shown and 0.533 saved by a lock once per episode instead of once per transition); some
stays where those that hold it have to do so for as long as now."""

TAKING: Final = Range(0.75, 1.0)
"""Part of the busy time in taking and giving back the lock that goes with the wait. Waking up those
that wait is a system call: 3 µs of CPU per transition where an uncontended lock takes 0.3, a third
of the actors' CPU time. Half of it in taking, 13 % asleep, was worth 0.53 to 0.62 on two full cores."""

UNDER_IT: Final = Range(0.0, 0.6)
"""Part of the work under the lock that goes when it is done for a batch at once: five small arrays
written item by item take 1.06 µs a transition, as rows of a batch of 128 0.46. What is not written
may cost the same as now."""

SHOWN_LINES: Final = 4


def detect(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    lines = UserLines(tree, profile.sources, profile.started_package)
    weights: dict[Line, float] = defaultdict(float)
    nodes: set[int] = set()
    asleep = touched = 0
    for node, cost in tree.self_costs():
        if profile.wait_kinds.get(node) is not WaitKind.LOCK:
            continue
        owner = lines.owner(node)
        if owner == NO_PARENT:
            continue
        nodes.add(node)
        asleep += cost.idle_us
        touched += cost.wall_us
        weights[lines.line(owner)] += cost.wall_us
    waited = _asleep_share(profile)
    if not whole or not touched or waited < MIN_SHARE:
        return
    # On a full host others work meanwhile: only taking the lock is a cost there.
    part = asleep / touched
    low = REMOVABLE.low * part + TAKING.low * (1 - part)
    savings = [Saving(frozenset(nodes), Range(low, REMOVABLE.high))]
    if held := _held_nodes(profile) - nodes:
        savings.append(Saving(held, UNDER_IT))
    locations = lines.locations(weights, whole)[:SHOWN_LINES]
    yield Finding(
        detector=DETECTOR.id,
        title=f"the lock at {short_place(max(weights, key=lambda it: (weights[it], it)))} is contended",
        phase=PhaseKind.STEADY,
        savings=tuple(savings),
        locations=locations,
        evidence=tuple(_evidence(profile, waited, (touched - asleep) / whole)),
        fix="Take the lock once per batch or episode instead of once per item: collect into a buffer "
        "of the worker's own and hand it over whole. Do under the lock only what needs it.",
        confidence=Confidence.MEASURED if profile.sources else Confidence.BOUNDED,
    )


def _asleep_share(profile: Profile) -> float:
    """Part of the critical threads' own time that they are asleep for a lock."""
    critical = [it for it in profile.activities if it.is_critical]
    asleep = sum(
        cost.idle_us
        for activity in critical
        for node, cost in activity.tree.self_costs()
        if profile.wait_kinds.get(node) is WaitKind.LOCK
    )
    return asleep / max(1, sum(it.wall_us for it in critical))


def _evidence(profile: Profile, share: float, taking: float) -> Iterable[str]:
    waiting = {wait.thread for wait in profile.waits if wait.kind is WaitKind.LOCK}
    who = f" ({len(waiting)} threads wait for it)" if len(waiting) > 1 else ""
    yield (
        f"{percent(share)} of the critical time is spent asleep in acquire{who}, "
        f"{percent(taking)} in taking it and giving it back"
    )
    held = _held_us(profile)
    total = sum(held.values())
    if total and profile.steady_us:
        heaviest = max(held, key=lambda line: (held[line], line))
        yield (
            f"some thread is at work under a lock for {percent(min(1.0, total / profile.steady_us))} of the "
            f"steady phase, most of it at {short_place(heaviest)} ({percent(held[heaviest] / total)})"
        )


def _held_us(profile: Profile) -> Mapping[Line, float]:
    """Working time of all threads under locks, by the user's line under the lock."""
    held: dict[Line, float] = defaultdict(float)
    under: dict[int, int] = {NO_PARENT: NO_PARENT}
    for activity in profile.activities:
        lines = UserLines(activity.tree, profile.sources, profile.started_package)
        for node, cost in activity.tree.self_costs():
            holder = _under_lock(profile, node, under)
            if holder != NO_PARENT and cost.busy_us:
                held[lines.line(holder)] += cost.busy_us
    return held


def _held_nodes(profile: Profile) -> frozenset[int]:
    """Nodes at or below a line under a lock, of those that are hot."""
    under: dict[int, int] = {NO_PARENT: NO_PARENT}
    return frozenset(
        node
        for node in profile.steady.hot_nodes()
        if profile.wait_kinds.get(node) is None and _under_lock(profile, node, under) != NO_PARENT
    )


def _under_lock(profile: Profile, node: int, known: dict[int, int]) -> int:
    """The nearest of ``node`` and its callers whose line is under a lock."""
    nodes = profile.steady.nodes
    path = []
    current = node
    while current not in known:
        path.append(current)
        frame = nodes[current].frame
        text = profile.sources.get(frame.file)
        if text and frame.line in locked_lines(text):
            known[current] = current
            break
        current = nodes[current].parent
    found = known[current]
    for passed in path:
        known[passed] = found
    return found


DETECTOR: Final = Detector(
    id="lock-contention",
    name="critical threads asleep for a lock",
    needs=frozenset({Need.SAMPLES}),
    detect=detect,
)
