"""Critical threads asleep because another holds the lock that they want."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.processes.locks import (
    HeldWork,
    asleep_for_locks,
    work_under_locks,
)
from rlprof.model.activity import FOR_OTHERS, WaitKind
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.profile.components import ENVIRONMENT, INFERENCE, LEARNING
from rlprof.profile.workload import workloads
from rlprof.source.lines import Line, UserLines, heaviest_line, short_place
from rlprof.units import percent

MIN_SHARE: Final = 0.01
"""Least share of the critical time. An uncontended lock is taken in under 1 µs and is hardly ever seen asleep."""

REMOVABLE: Final = calibrated(
    Range(0.7, 1.0),
    unit="part of the wait",
    source="a lock once per episode instead of once per transition: 0.533 was shown, 0.533 saved",
    date="2026-11-21",
)
"""Part that goes: all of it when the lock is taken once per batch or not shared at all; some stays where
those that hold it have to do so for as long as now."""

TAKING: Final = calibrated(
    Range(0.75, 1.0),
    unit="part of the busy time",
    source="3 µs of CPU per transition where an uncontended lock takes 0.3, a third of the actors' "
    "CPU time; half of it in taking, 13 % asleep, was worth 0.53 to 0.62 on two full cores",
    date="2026-11-21",
)
"""Part of the busy time in taking and giving back the lock that goes with the wait: waking up those that
wait is a system call."""

UNDER_IT: Final = calibrated(
    Range(0.0, 0.6),
    unit="part of the work under the lock",
    source="benchmarks/replacements.py: five small arrays written item by item take 1.7 µs a "
    "transition, as rows of a batch of 128 0.46",
    date="2026-11-21",
)
"""Part that goes when it is done for a batch at once. What is not written may cost the same as now."""

COUPLED: Final = 0.05
"""Part of the steady phase that critical threads wait for another process, from which on they cannot do
without it."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    lines = UserLines.of(profile)
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
    waited = asleep_for_locks(profile)
    if not whole or not touched or waited < MIN_SHARE:
        return
    held = work_under_locks(profile)
    # On a full host others work meanwhile: only taking the lock is a cost there.
    part = asleep / touched
    at_most = min(1.0, _most(profile) * whole / touched)
    low = min(at_most, REMOVABLE.low * part + TAKING.low * (1 - part))
    savings = [Saving(frozenset(nodes), Range(low, min(at_most, REMOVABLE.high)))]
    if (written := _written_under_it(profile, held) - nodes) and at_most == 1.0:
        savings.append(Saving(written, UNDER_IT))
    locations = lines.shown_locations(weights, whole)
    yield Finding(
        title=f"the lock at {short_place(heaviest_line(weights))} is contended",
        savings=tuple(savings),
        locations=locations,
        evidence=tuple(_evidence(profile, waited, (touched - asleep) / whole, held)),
        fix="Take the lock once per batch or episode instead of once per item: collect into a buffer "
        "of the worker's own and hand it over whole. Do under the lock only what needs it.",
        confidence=Confidence.MEASURED if profile.sources else Confidence.BOUNDED,
    )


def _evidence(profile: Profile, share: float, taking: float, held: HeldWork) -> Iterable[str]:
    waiting = {wait.thread for wait in profile.waits if wait.kind is WaitKind.LOCK}
    who = f" ({len(waiting)} threads wait for it)" if len(waiting) > 1 else ""
    yield (
        f"{percent(share)} of the critical time is spent asleep in acquire{who}, "
        f"{percent(taking)} in taking it and giving it back"
    )
    total = held.us
    if total and profile.steady_us:
        heaviest = heaviest_line(held.by_line)
        yield (
            f"some thread is at work under a lock for {percent(min(1.0, total / profile.steady_us))} of the "
            f"steady phase, most of it at {short_place(heaviest)} ({percent(held.by_line[heaviest] / total)})"
        )


def _written_under_it(profile: Profile, held: HeldWork) -> frozenset[int]:
    """Return what those that wait do under the lock themselves, training and stepping left out: it is what is
    done for each item.
    """
    waiting = {
        activity.process
        for activity in profile.activities
        if activity.is_critical
        and any(
            profile.wait_kinds.get(cost) is WaitKind.LOCK for cost, _ in activity.tree.self_costs()
        )
    }
    names = profile.parts
    return frozenset(
        node
        for process in waiting
        for node in held.nodes.get(process, ())
        if names[node] not in (LEARNING, INFERENCE, ENVIRONMENT)
        and profile.wait_kinds.get(node) is None
    )


def _most(profile: Profile) -> float:
    """Return what freeing the lock can save at all: where those that wait for it wait for another process,
    too, they step no faster than that process does its own work.
    """
    coupled = {
        process
        for wait in profile.waits
        if wait.thread in profile.critical.threads and wait.kind in FOR_OTHERS
        for process, part in wait.on
        if part * wait.wall_us >= COUPLED * profile.steady_us
    }
    own = (
        (workload.working + workload.asleep)
        for workload in workloads(profile)
        if workload.process in coupled and not workload.main.is_critical
    )
    return max(0.0, 1 - max(own, default=0.0))


DETECTOR: Final = Detector(
    id="lock-contention",
    name="critical threads asleep for a lock",
    in_samples=InSamples(detect),
)
