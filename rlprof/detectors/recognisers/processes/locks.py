"""Work that is done under locks: whose it is, and on which lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from rlprof.model.activity import WaitKind
from rlprof.model.calltree import nearest
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines
from rlprof.source.waiting import locked_lines


@dataclass(slots=True)
class HeldWork:
    """Working time of all threads under locks, in the steady phase (µs)."""

    by_line: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    """By the user's line under the lock."""
    by_process: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    nodes: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """By process."""

    @property
    def us(self) -> float:
        return sum(self.by_process.values())


def work_under_locks(profile: Profile) -> HeldWork:
    """By the user's source: without it nothing tells what is under a lock."""
    held = HeldWork()
    under: dict[int, int] = {NO_PARENT: NO_PARENT}

    def is_locked(frame: Frame) -> bool:
        text = profile.sources.get(frame.file)
        return bool(text) and frame.line in locked_lines(text)

    for activity in profile.activities:
        lines = UserLines.of(profile, activity.tree)
        for node, cost in activity.tree.self_costs():
            holder = nearest(profile.steady.nodes, node, is_locked, under)
            if holder != NO_PARENT and cost.busy_us:
                held.by_line[lines.line(holder)] += cost.busy_us
                held.by_process[activity.process] += cost.busy_us
                held.nodes[activity.process].add(node)
    return held


def asleep_for_locks(profile: Profile) -> float:
    """Part of the critical threads' own time that they are asleep for a lock."""
    critical = [activity for activity in profile.activities if activity.is_critical]
    asleep = sum(
        cost.idle_us
        for activity in critical
        for node, cost in activity.tree.self_costs()
        if profile.wait_kinds.get(node) is WaitKind.LOCK
    )
    return asleep / max(1, sum(activity.wall_us for activity in critical))


def shares_of(held: HeldWork) -> Mapping[int, float]:
    """Part of the work under locks that each process does."""
    return {process: us / held.us for process, us in held.by_process.items()} if held.us else {}
