"""Programs in Python that a loop starts again and again by ``subprocess``, and waits for: how much of that is their start."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from rlprof.detectors.recognisers.line_time import LineTime, calls_time
from rlprof.detectors.recognisers.processes.worker_start import REMADE_ROUNDS, agent_start
from rlprof.model.calltree import handed_down
from rlprof.model.counters import PROCESS_STARTS
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import NO_PARENT, Frame, Process
from rlprof.source.lines import UserLines, last_name

_BY_SUBPROCESS: Final = "subprocess"
_STARTS: Final = re.compile(r"[/\\]python3\.\d+t?[/\\]subprocess\.py$")

MOSTLY_SEEN: Final = 0.5
"""Part of a program's life in which a sampler was there, from which on its own work is known."""


@dataclass(frozen=True, slots=True)
class StartedPrograms:
    """Programs that the steady phase starts."""

    processes: tuple[Process, ...]
    time: LineTime
    """Time of the lines that start them and wait for them."""
    own_part: float
    """Part of their lives that they work, their start and their imports left out; with that in which rlprof's agent starts."""

    @property
    def lived_us(self) -> int:
        return sum(map(_lived_us, self.processes))


def started_programs(profile: Profile) -> StartedPrograms | None:
    """Return those of the process that the steps are made by; None where there are few, where others may be awaited at the same lines, or
    where nobody saw what they do.
    """
    makers = {activity.process for activity in profile.activities if activity.is_critical}
    pids = {process.pid for process in profile.processes if process.id in makers}
    phase = next((each for each in profile.phases if each.kind is PhaseKind.STEADY), None)
    if phase is None or len(pids) != 1:
        return None
    started = tuple(
        process
        for process in profile.processes
        if process.start_method == _BY_SUBPROCESS
        and process.ppid in pids
        and phase.start_us <= process.started_us <= phase.end_us
        and process.ended_us is not None
    )
    # Of programs that are not Python's only their number is known.
    if profile.counts.get(PROCESS_STARTS, 0.0) > len(started):
        return None
    if len(started) < REMADE_ROUNDS * _side_by_side(started):
        return None
    own_part = _own_part(started, profile)
    lines = UserLines.of(profile)
    calls = (
        (node, lines.line(owner))
        for node in lines.tree.topmost(_is_of_subprocess)
        if (owner := lines.owner(node)) != NO_PARENT and lines.is_repeated(owner)
    )
    return (
        None
        if own_part is None
        else StartedPrograms(started, calls_time(profile, lines, calls), own_part)
    )


def _is_of_subprocess(frame: Frame) -> bool:
    return _STARTS.search(frame.file) is not None


def _lived_us(process: Process) -> int:
    return max(0, (process.ended_us or process.started_us) - process.started_us)


def _side_by_side(started: Collection[Process]) -> int:
    """Return how many live at the same time, at most."""
    return max(
        (
            sum(each.started_us <= process.started_us < (each.ended_us or 0) for each in started)
            for process in started
        ),
        default=1,
    )


def _own_part(started: Collection[Process], profile: Profile) -> float | None:
    """Return the part of their lives in which they do what they were started for, by those that a sampler saw for most of theirs."""
    seen = {
        process.id
        for process in started
        if process.clock_covered_us >= MOSTLY_SEEN * _lived_us(process) > 0
    }
    lived = sum(_lived_us(process) for process in started if process.id in seen)
    if not lived:
        return None
    # Imports are left out of what they do.
    own_us = sum(activity.wall_us for activity in profile.activities if activity.process in seen)
    scale = len(seen) / len(started)
    return min(1.0, (own_us + scale * _in_imports_us(started, profile)) / lived)


def _in_imports_us(started: Collection[Process], profile: Profile) -> int:
    """Return what functions of the program's do while they are imported, and the start of rlprof's agent in them."""
    tree = profile.start_up
    agent = agent_start(tree)
    lines = UserLines.of(profile, tree)
    roles = {profile.process_roles.get(process.id, "") for process in started}
    known: dict[int, bool] = {NO_PARENT: False}

    def works(frame: Frame, caller_does: bool) -> bool:
        return caller_does or (lines.is_yours(frame) and last_name(frame.function) != "<module>")

    return sum(
        cost.wall_us
        for node, cost in tree.self_costs()
        if cost.wall_us
        and profile.node_roles.get(node, frozenset()) <= roles
        and (node in agent or handed_down(tree.nodes, node, works, known))
    )
