"""A sleep at each turn of the thread that empties a queue, while those who make the steps wait for room in it."""

from __future__ import annotations

from rlprof.detectors.recognisers.processes.naps import held_up_by_sleep
from rlprof.model.activity import WaitKind
from rlprof.model.finding import Confidence, Finding, Remainder
from rlprof.model.profile import Profile
from rlprof.profile.sleepers import LEAST_HELD_UP, find_sleeper
from rlprof.source.lines import UserLines, short_place
from rlprof.units import percent


def plain_sleep(profile: Profile) -> Finding | None:
    """Return the finding of a sleep that asks nothing in between; one between questions is a loop that polls."""
    kinds = profile.wait_kinds
    sleeper = find_sleeper(profile.activities, profile.waits, kinds, profile.sources)
    if sleeper is None or any(kinds.get(node) is not WaitKind.SLEEP for node in sleeper.nodes):
        return None
    activity = next(each for each in profile.activities if each.thread == sleeper.thread)
    asleep_us = activity.tree.cost_of(sleeper.nodes).idle_us
    held_up = held_up_by_sleep(activity, asleep_us, profile)
    waited = sleeper.waited_us / profile.critical.wall_us
    if held_up.left is None or waited < LEAST_HELD_UP:
        return None
    lines = UserLines.of(profile, activity.tree)
    who = "the" if sleeper.is_main else "a thread of the"
    return Finding(
        title=f"a sleep at {short_place(sleeper.line)} leaves others waiting for room",
        savings=(),
        remainder=Remainder(held_up.nodes | sleeper.nodes, held_up.left),
        locations=lines.shown_locations({sleeper.line: asleep_us}, activity.wall_us),
        evidence=(
            f"{who} {activity.role} process sleeps {percent(sleeper.part)} of its steady time there",
            f"{percent(waited)} of the critical time waits for this process, most of it for room in a queue",
            "no clock sets how long it sleeps; nothing tells whether it is meant to keep a pace, so the lower price is 0",
        ),
        fix=(
            "Leave the sleep out: queue.get(timeout=...) sleeps by itself until something is there. Where it keeps a pace, let a "
            "clock say for how long: time.sleep(max(0, due - time.monotonic()))."
        ),
        confidence=Confidence.BOUNDED,
    )
