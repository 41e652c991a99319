"""Naps between questions: the time in which nobody works, and who else is held up by them, where there are free cores."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from rlprof.model.activity import Activity, Wait, WaitKind
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Range
from rlprof.model.profile import Profile
from rlprof.profile.roles import SERVICES

NO_DELAY: Final = calibrated(
    Range(0.3, 0.95),
    unit="part of the time asleep",
    source="a blocking wait wakes up after 50 to 100 µs",
    date="2026-11-21",
)
"""Part of the time asleep between two questions, when nobody works meanwhile, that a blocking wait saves;
the low is for waits that nobody's work explains."""

OUTSIDE: Final = 0.05
"""Part of its time that another thread sleeps for reasons outside of the run, from which on the
polling may well be a wait for that."""

IDLE: Final = 0.001
"""Part of its time that a thread works, below which nobody waits for it: a launcher that sleeps until the end."""

_OUTSIDE_KINDS: Final = frozenset({WaitKind.SLEEP, WaitKind.SOCKET, WaitKind.UNKNOWN})


class HeldUp(NamedTuple):
    """Waits of other threads for one that naps."""

    nodes: frozenset[int] = frozenset()
    part: float = 0.0
    """Part of the waits that the naps explain, at most."""


def held_up_by(napping: Activity, busy_part: float, profile: Profile) -> HeldUp:
    """Return the waits of those who bound the run for ``napping``, which is none of them and busy for ``busy_part`` of its polling."""
    if napping.is_critical or profile.load.saturated or _may_wait_for_outside(profile):
        return HeldUp()
    critical = {activity.thread for activity in profile.activities if activity.is_critical}
    waits = [
        wait
        for wait in profile.waits
        if wait.thread in critical and {process for process, _ in wait.on} == {napping.process}
    ]
    unexplained_us = max((wait.wall_us * (1 - worked(wait)) for wait in waits), default=0.0)
    if not unexplained_us:
        return HeldUp()
    naps_us = sum(
        wait.wall_us * (1 - busy_part) * (1 - worked(wait))
        for wait in profile.waits
        if polls(wait, napping)
    )
    nodes = frozenset(node for wait in waits for node in wait.nodes)
    return HeldUp(nodes, min(1.0, naps_us / unexplained_us))


def polls(wait: Wait, activity: Activity) -> bool:
    """Tell whether a wait is the polling of a thread."""
    return wait.kind is WaitKind.POLL and wait.thread == activity.thread


def worked(wait: Wait) -> float:
    """Return the part of a wait in which somebody worked whom it may be for."""
    return min(1.0, max((part for _, part in wait.on), default=0.0))


def delay_of(loops: Collection[int], profile: Profile) -> float:
    """Return the part of the time of ``loops`` in which they sleep and nobody works, where there are free cores.

    A busy loop only waits then; what it waits for, others' work, is taken out already.
    """
    costs = [profile.steady.self_cost(node) for node in loops]
    wall = sum(cost.wall_us for cost in costs)
    if not wall or _may_wait_for_outside(profile):
        return 0.0
    return sum(cost.idle_us for cost in costs) / wall


def _may_wait_for_outside(profile: Profile) -> bool:
    """Tell whether somebody sleeps, is not seen, or nobody is there who could be waited for."""
    if any(process.fate not in ("sampled", "probe-only") for process in profile.processes):
        return True
    others = [
        activity
        for activity in profile.activities
        if activity.role not in SERVICES and activity.working_us >= IDLE * activity.wall_us
    ]
    if len(others) < 2:
        return True
    return any(_asleep_outside(other, profile) >= OUTSIDE * other.wall_us for other in others)


def _asleep_outside(activity: Activity, profile: Profile) -> int:
    return sum(
        cost.idle_us
        for node, cost in activity.tree.self_costs()
        if cost.idle_us and profile.wait_kinds.get(node, WaitKind.UNKNOWN) in _OUTSIDE_KINDS
    )
