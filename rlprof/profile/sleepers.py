"""Find the thread that sleeps in its loop while those who make the steps wait for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rlprof.libraries.questions import transport_of
from rlprof.model.activity import WORKED_MEANWHILE, Activity, Wait, WaitKind
from rlprof.source.lines import Line, UserLines
from rlprof.source.timed_waits import paced_sleeps

MOSTLY_ASLEEP: Final = 0.5
"""Part of its time that a thread sleeps on one line, from which on that is what others wait for. No two lines have as much."""

LEAST_HELD_UP: Final = 0.3
"""Part of the critical time that is waited for a thread that sleeps, from which on its sleep is told: less is the give and take of a queue."""

_MESSAGES: Final = frozenset({WaitKind.PIPE, WaitKind.QUEUE, WaitKind.EVENT})
"""Waits that end by what another thread of the run hands over."""


class Sleeper(NamedTuple):
    """A thread that others wait for."""

    thread: int
    process: int
    is_main: bool
    line: Line
    nodes: frozenset[int]
    """Nodes of the call tree that sleep there."""
    part: float
    """Part of its time asleep on that line."""
    waited_us: int
    """Time that the critical threads wait for it."""


def find_sleeper(
    activities: Sequence[Activity],
    waits: Sequence[Wait],
    kinds: Mapping[int, WaitKind],
    sources: Mapping[str, str],
) -> Sleeper | None:
    """The thread that sleeps most of those that the critical ones wait for, and for a time that no clock sets.

    One that hands nothing over (a watchdog, a launcher) holds nobody up.
    """
    critical = {activity.thread for activity in activities if activity.is_critical}
    makers = {activity.process for activity in activities if activity.is_critical}
    found = []
    for activity in activities:
        if activity.is_critical or not activity.wall_us:
            continue
        waited = [
            wait
            for wait in waits
            if wait.thread in critical
            and wait.kind in _MESSAGES
            and _may_be_for(wait, activity, makers)
        ]
        asleep = _asleep(activity, kinds, sources) if waited else None
        if asleep is not None and _hands_over(activity, kinds):
            line, nodes = asleep
            us = sum(activity.tree.self_cost(node).idle_us for node in nodes)
            found.append(
                Sleeper(
                    activity.thread,
                    activity.process,
                    activity.is_main,
                    line,
                    nodes,
                    us / activity.wall_us,
                    sum(wait.wall_us for wait in waited),
                )
            )
    return max(found, key=lambda sleeper: (sleeper.part, sleeper.line), default=None)


def _may_be_for(wait: Wait, activity: Activity, makers: set[int]) -> bool:
    """Tell whether a wait may be for a thread's process, and no other one works meanwhile. Those that make the steps do so side by
    side, as in prices.
    """
    own = dict(wait.on)
    others = own.keys() - makers - {activity.process}
    return activity.process in own and all(own[other] < WORKED_MEANWHILE for other in others)


def _asleep(
    activity: Activity, kinds: Mapping[int, WaitKind], sources: Mapping[str, str]
) -> tuple[Line, frozenset[int]] | None:
    """Return the line on which a thread sleeps for most of its time, with its nodes; None where a clock sets how long."""
    tree = activity.tree
    lines = UserLines(tree, sources)
    on_line: dict[Line, set[int]] = defaultdict(set)
    for node, cost in tree.self_costs():
        # A nap between two questions, too.
        if cost.idle_us and kinds.get(node) in (WaitKind.SLEEP, WaitKind.POLL):
            frame = tree.frame(node)
            text = sources.get(frame.file)
            if lines.is_yours(frame) and text and frame.line not in paced_sleeps(text):
                on_line[lines.line(node)].add(node)
    for line, nodes in on_line.items():
        if sum(tree.self_cost(node).idle_us for node in nodes) >= MOSTLY_ASLEEP * activity.wall_us:
            return line, frozenset(nodes)
    return None


def _hands_over(activity: Activity, kinds: Mapping[int, WaitKind]) -> bool:
    """Tell whether a thread passes messages, and so may be waited for."""
    tree = activity.tree
    return any(
        cost.wall_us and (kinds.get(node) in _MESSAGES or transport_of(tree.frame(node)))
        for node, cost in tree.self_costs()
    )
