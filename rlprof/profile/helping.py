"""The threads whose work stands in for the time that critical threads wait for others.

Workers of one role are taken to work side by side, processes of different roles one after the other, as
far as there is a wait to fill: the heaviest role first. So a logger beside busy workers explains nothing,
and a thread that pickles while the workers wait for it explains what they leave.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rlprof.model.activity import FOR_OTHERS, WaitKind
from rlprof.model.calltree import Cost
from rlprof.model.recording import Recording
from rlprof.pace.times import Times
from rlprof.profile.activities import SteadyThreads
from rlprof.profile.critical import CriticalThreads
from rlprof.profile.fold import NodeSums, TimeTree

_BESIDE: Final = "beside a critical thread"
"""The other threads of critical processes, as a role of their own."""


def weigh_helpers(
    recording: Recording,
    places: bytearray,
    times: Times,
    critical: CriticalThreads,
    threads: SteadyThreads,
    roles: Mapping[int, str],
) -> Sequence[float]:
    """Return how much the work of each helping thread counts for those that wait for it, by thread id.

    Within a role: eight workers alike count 1/8 each. One that all others wait for counts 1, and those
    that wait with the critical thread for it little: their work held nothing up. In between, the
    square of a process's work over that of the busiest. What several critical threads wait for at once
    counts once for each of them.
    """
    working = {recording.threads[thread].process for thread in critical.threads}
    busy: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    role_of: list[str] = []
    for thread in recording.threads:
        role = _BESIDE if thread.process in working else roles.get(thread.process, "")
        role_of.append(role)
        # By process: threads of one take turns at the interpreter.
        busy[role][thread.process] += _helping_us(thread.id, places, times, threads)
    groups = {role: _RoleGroup(of_role) for role, of_role in busy.items()}
    waited = _waited_us(critical, threads)
    at_once = sum(waited) / max(waited) if any(waited) else 1.0
    left = float(sum(waited))
    parts = {}
    for role, group in sorted(groups.items(), key=lambda pair: (-pair[1].longest_us, pair[0])):
        filled = min(left, group.longest_us * at_once)
        parts[role] = filled / group.counted_us if group.counted_us else 0.0
        left -= filled
    return [
        groups[role].weight(thread.process) * parts[role]
        for thread, role in zip(recording.threads, role_of, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _RoleGroup:
    """Processes of one role, which work side by side."""

    busy_us: Mapping[int, int]
    """By process."""

    @property
    def longest_us(self) -> int:
        return max(self.busy_us.values())

    @property
    def counted_us(self) -> float:
        return sum(self.weight(process) * us for process, us in self.busy_us.items())

    def weight(self, process: int) -> float:
        longest = self.longest_us
        return float((self.busy_us[process] / longest) ** 2) if longest else 0.0


def _helping_us(thread: int, places: bytearray, times: Times, threads: SteadyThreads) -> int:
    """Work of a thread while critical ones run; asking in a loop whether others are done is none."""
    worked = 0
    for window in range(times.windows):
        cell = times.at(thread, window)
        if places[cell] == TimeTree.HELPING:
            worked += times.busy_us[cell] - threads.polling_in.get((thread, window), 0)
    return max(0, worked)


def _waited_us(critical: CriticalThreads, threads: SteadyThreads) -> list[int]:
    """Return what each critical thread waits for others; in loops that poll, busy time counts, too."""
    waited = dict.fromkeys(critical.threads, 0)
    for (thread, kind), windows in threads.waited_us.items():
        if thread in waited and kind in FOR_OTHERS:
            waited[thread] += sum(windows.values())
    return list(waited.values())


def cpu_costs(critical: NodeSums, helping: NodeSums) -> dict[int, Cost]:
    """Self costs on a saturated host: the CPU time of every thread, as if it were wall time."""
    cpu_us = zip(critical.cpu_us, helping.cpu_us, strict=True)
    return {
        node: Cost(round(own + others), 0, round(own + others))
        for node, (own, others) in enumerate(cpu_us)
        if own + others > 0
    }


def wall_costs(
    critical: NodeSums, helping: NodeSums, kinds: Mapping[int, WaitKind]
) -> dict[int, Cost]:
    """Self costs on the critical threads; the weighted work of ``helping`` threads replaces waits.

    The total stays that of the critical threads. A loop that polls waits, however busy it is.
    """
    waited = _waits(critical, kinds)
    total_us = sum(wall for wall, _ in waited.values())
    polling = [node for node, kind in kinds.items() if kind is WaitKind.POLL]
    work = sum(helping.wall_us) - sum(helping.idle_us)
    work -= sum(helping.wall_us[node] - helping.idle_us[node] for node in polling)
    if total_us <= 0 or work <= 0:
        return critical.costs()
    scale = min(1.0, total_us / work)
    mixed = NodeSums(len(critical.wall_us))
    for node in range(len(critical.wall_us)):
        busy = (helping.wall_us[node] - helping.idle_us[node]) * scale
        cpu = helping.cpu_us[node] * scale
        if kinds.get(node) is WaitKind.POLL:
            busy = cpu = 0.0
        mixed.wall_us[node] = critical.wall_us[node] + busy
        mixed.idle_us[node] = critical.idle_us[node]
        mixed.cpu_us[node] = critical.cpu_us[node] + cpu
    replaced = scale * work / total_us
    for node, (wall, idle) in waited.items():
        mixed.wall_us[node] -= wall * replaced
        mixed.idle_us[node] -= idle * replaced
        if wall > idle:
            mixed.cpu_us[node] -= critical.cpu_us[node] * replaced
    return mixed.costs()


def _waits(critical: NodeSums, kinds: Mapping[int, WaitKind]) -> dict[int, tuple[float, float]]:
    """(wall, idle) µs of each node in which critical threads wait for the work of others."""
    waits = {}
    for node, kind in kinds.items():
        if kind in FOR_OTHERS:
            idle = critical.idle_us[node]
            wall = critical.wall_us[node] if kind is WaitKind.POLL else idle
            if wall > 0:
                waits[node] = (wall, idle)
    return waits
