"""A model's weights copied, pickled, sent and loaded for other processes, update after update."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import (
    interpreter_lock_waits,
    own_time,
    working_time,
)
from rlprof.detectors.recognisers.processes.publishing import (
    Publishing,
    find_publishing,
    pulled_weights,
)
from rlprof.detectors.recognisers.processes.transport import most_transport_us
from rlprof.model.activity import FOR_OTHERS
from rlprof.model.calibration import calibrated
from rlprof.model.counters import UPDATES
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines, heaviest_line, short_place
from rlprof.units import count, duration, percent

MIN_SHARE: Final = 0.02
"""Least share of the busy time of the run's threads: twice what a report lists."""

LOADED_TWICE: Final = calibrated(
    2.0,
    unit="times the time of the messages",
    source="copies and loads are up to half of it: 190 of 230 µs for small weights, where a "
    "message is taken for 150 at least",
    date="2026-11-21",
)
"""Most CPU time of weights over that of their messages."""

REMOVABLE: Final = calibrated(
    Range(0.8, 0.98),
    unit="part of the CPU time",
    source="torch 2.13, 34 KiB to 4.4 MiB of weights: 230 µs to 16 ms of CPU time to copy, send, "
    "take and load them once, 8 to 170 µs to copy them into shared memory",
    date="2026-11-21",
)
"""Part that shared memory saves, or fewer updates: every tenth instead of each leaves 0.1."""

_WORDS: Final = {"copy": "copying", "send": "sending", "take": "taking", "load": "loading"}


OF_PULLS: Final = Range(0.8, 0.98)
"""Part of what loads weights at each step that goes: a rollout of a few steps, or more, needs them once."""


def detect(profile: Profile) -> Iterable[Finding]:
    yield from _of_pulls(profile)
    whole = profile.critical.wall_us
    if not whole:
        return
    found = find_publishing(profile)
    if not found.lines.get("send") and not found.lines.get("take"):
        return
    parts = _busy_us(profile, found)
    working = sum(activity.wall_us - activity.idle_us for activity in profile.activities)
    # A thread that wakes up now and then is easily seen for longer than it works.
    at_most = LOADED_TWICE * most_transport_us(profile.counts)
    if min(at_most, sum(parts.values())) < MIN_SHARE * max(1, working):
        return
    weights = _weights(profile, found)
    lines = UserLines.of(profile)
    heaviest = heaviest_line(weights) if weights else None
    yield Finding(
        title="the model's weights are sent to other processes again and again"
        + (f" at {short_place(heaviest)}" if heaviest else ""),
        savings=tuple(_savings(profile, found)),
        locations=lines.shown_locations(weights, max(whole, *weights.values(), 1)),
        evidence=tuple(_evidence(profile, parts, working)),
        fix="Keep the parameters in shared memory (model.share_memory(), then copy into them in place), "
        "or publish only every n-th update; an actor needs the newest weights at most once per rollout.",
        confidence=Confidence.MEASURED,
    )


def _of_pulls(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    found = pulled_weights(profile, lines)
    time = own_time(profile, lines, found, MIN_SHARE)
    if time is not None:
        yield Finding(
            title=f"weights are loaded anew at each step ({time.place})",
            savings=tuple(Saving(frozenset(pull.nodes), OF_PULLS) for pull in found),
            locations=time.locations,
            evidence=(
                time.share_spent("in it"),
                "processes that step no optimizer load them in the loop that steps the environment",
            ),
            fix="Load them once per rollout, before its first step, or when a number beside them, which the learner raises at each update, has changed.",
            confidence=Confidence.MEASURED,
        )


def _savings(profile: Profile, found: Publishing) -> Iterable[Saving]:
    tree, kinds = profile.steady, profile.wait_kinds
    nodes = frozenset[int]().union(*found.lines.values())
    yield from working_time(tree, nodes, kinds, REMOVABLE)
    if found.feeding:
        yield from working_time(
            tree, found.feeding - nodes, kinds, REMOVABLE.scaled(found.feeding_part)
        )
        yield from interpreter_lock_waits(profile, found.senders, found.feeding_us, REMOVABLE)


def _busy_us(profile: Profile, found: Publishing) -> dict[str, float]:
    """Busy time by what is done with the weights, over all threads."""
    parts: dict[str, float] = defaultdict(float)
    kind_of = {node: kind for kind, nodes in found.lines.items() for node in nodes}
    for activity in profile.activities:
        for node, cost in activity.tree.self_costs():
            kind = kind_of.get(node)
            if kind is not None and cost.busy_us:
                parts[_WORDS[kind]] += cost.busy_us
    if found.feeding_us:
        parts["pickling beside it, for a queue"] = found.feeding_us
    return parts


def _weights(profile: Profile, found: Publishing) -> dict[Line, float]:
    """Time of the user's lines, waits for others left out."""
    lines = UserLines.of(profile)

    def us(node: int) -> int:
        cost = profile.steady.self_cost(node)
        return cost.busy_us if profile.wait_kinds.get(node) in FOR_OTHERS else cost.wall_us

    return lines.times((node, us(node)) for nodes in found.lines.values() for node in nodes)


def _evidence(profile: Profile, parts: dict[str, float], working: float) -> Iterable[str]:
    total = sum(parts.values())
    ranked = sorted(parts.items(), key=lambda part: (-part[1], part[0]))
    yield f"{percent(total / max(1, working))} of the busy time of all threads: " + ", ".join(
        f"{name} {percent(us / max(1, working))}" for name, us in ranked if us >= 0.01 * total
    )
    updates = profile.counts.get(UPDATES, 0.0)
    if updates:
        yield (
            f"{duration(total / updates)} for each of {count(round(updates))} optimizer steps, in all "
            "processes together"
        )


DETECTOR: Final = Detector(
    id="model-publish",
    name="weights sent to other processes at every update",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
