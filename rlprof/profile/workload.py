"""Tell what each process of the training did in the steady phase: how much it worked, waited and queued."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import ceil
from typing import Final

from rlprof.libraries.known import files_of
from rlprof.model.activity import FOR_OTHERS, Activity, WaitKind
from rlprof.model.finding import Location
from rlprof.model.profile import PhaseKind, Profile
from rlprof.profile.components import LEARNING
from rlprof.profile.roles import (
    DATA_LOADER,
    ENVIRONMENT_WORKER,
    INFERENCE,
    LAUNCHER,
    LEARNER,
    MAIN,
    SERVICES,
    WORKER,
)
from rlprof.source.lines import Line, UserLines

COLLECTORS: Final = frozenset({WORKER, ENVIRONMENT_WORKER, INFERENCE, DATA_LOADER})
"""Roles of processes that make what the learner learns from."""

LEAST_PRESENT: Final = 0.25
"""Part of the steady phase that a process has to be there for: what comes and goes does not count."""

_STILL: Final = frozenset({WaitKind.SLEEP, WaitKind.UNKNOWN, WaitKind.OWN_EVENTS})
"""Waits that no other process or thread of the run can end."""

SHOWN_LINES: Final = 3

_is_compiler: Final = files_of(lambda library: library.compilers)


@dataclass(frozen=True, slots=True)
class Workload:
    """One process, by its main thread; parts are of that thread's wall time."""

    main: Activity
    pid: int
    waiting: float
    """In waits for other processes and threads, polling included."""
    asleep: float
    """Until a time of day, or for a reason that is not known."""
    awaited: tuple[tuple[int, float], ...]
    """(process id, part of the waits in which it worked), the heaviest first."""
    python_us: int
    """CPU time of its Python threads."""
    native_us: int
    """CPU time of its other threads, BLAS, OpenMP and torch pools: what is more than a compiler can have taken meanwhile."""

    @property
    def process(self) -> int:
        return self.main.process

    @property
    def role(self) -> str:
        return self.main.role

    @property
    def working(self) -> float:
        return self.main.working_us / self.main.wall_us

    @property
    def queued(self) -> float:
        """Runnable, waiting for a CPU."""
        return min(1.0, self.main.run_queue_us / self.main.wall_us)


def workloads(profile: Profile) -> tuple[Workload, ...]:
    """Return the workload of every process that is there in the steady phase, those of ``multiprocessing`` left out."""
    python: dict[int, int] = defaultdict(int)
    for activity in profile.activities:
        python[activity.process] += activity.on_cpu_us
    all_cpu = dict(profile.load.by_process)
    return tuple(
        _workload(main, profile, python[main.process], all_cpu.get(main.process, 0))
        for main in profile.activities
        if main.is_main
        and main.role not in SERVICES
        and main.role != LAUNCHER
        and main.wall_us
        and main.wall_us >= LEAST_PRESENT * profile.steady_us
    )


def _workload(main: Activity, profile: Profile, python_us: int, all_us: int) -> Workload:
    own = [wait for wait in profile.waits if wait.thread == main.thread]
    for_others = [wait for wait in own if wait.kind in FOR_OTHERS]
    still = [wait for wait in own if wait.kind in _STILL]
    waited_us = sum(wait.wall_us for wait in for_others)
    worked: dict[int, float] = defaultdict(float)
    for wait in for_others:
        for process, part in wait.on:
            worked[process] += part * wait.wall_us / waited_us
    compiling = main.tree.topmost(lambda frame: _is_compiler(frame.file))
    compiling_us = sum(main.tree.total_cost(node).wall_us for node in compiling)
    return Workload(
        main=main,
        pid=profile.processes[main.process].pid,
        waiting=min(1.0, waited_us / main.wall_us),
        asleep=min(1.0, sum(wait.wall_us for wait in still) / main.wall_us),
        awaited=tuple(sorted(worked.items(), key=lambda item: (-item[1], item[0]))),
        python_us=python_us,
        native_us=max(0, all_us - python_us - round(compiling_us * profile.load.cores)),
    )


def collectors(loads: Collection[Workload]) -> tuple[Workload, ...]:
    return tuple(load for load in loads if load.role in COLLECTORS)


def learners(loads: Collection[Workload], profile: Profile) -> tuple[Workload, ...]:
    """Processes that learn: by the optimizer steps counted in them, their role, or, for the main
    process, because it works in what is learning. That its workers do, as in a sweep, makes no learner of it.
    """
    counted = tuple(
        load for load in loads if profile.process_counts.get(load.process, {}).get("updates")
    )
    named = counted or tuple(load for load in loads if load.role == LEARNER)
    return named or tuple(load for load in loads if load.role == MAIN and _learns(load, profile))


def _learns(load: Workload, profile: Profile) -> bool:
    return bool(profile.parts) and any(
        cost.busy_us and profile.parts[node] == LEARNING
        for activity in profile.activities
        if activity.process == load.process
        for node, cost in activity.tree.self_costs()
    )


def mean(values: Iterable[float]) -> float:
    listed = tuple(values)
    return sum(listed) / len(listed) if listed else 0.0


def enough_of(loads: Collection[Workload]) -> int:
    """Return how many of ``loads`` would do if each worked all the time, at least one."""
    return max(1, ceil(sum(load.working for load in loads) - 0.05))


def at_a_time(processes: Collection[int], profile: Profile) -> int:
    """Return how many of ``processes`` there are at a time in the steady phase: of a worker that died and the one in its place, one.

    What overlaps for less than ``LEAST_PRESENT`` of it does not count.
    """
    ends: list[tuple[int, int]] = []
    for phase in profile.phases:
        for process in profile.processes if phase.kind is PhaseKind.STEADY else ():
            begun = max(process.started_us, phase.start_us)
            ended = phase.end_us if process.ended_us is None else process.ended_us
            if process.id in processes and begun < min(ended, phase.end_us):
                ends += [(begun, 1), (min(ended, phase.end_us), -1)]
    there: dict[int, int] = defaultdict(int)
    number = before = 0
    for at, change in sorted(ends):
        there[number] += at - before
        number, before = number + change, at
    most = (
        number
        for number in sorted(there, reverse=True)
        if sum(us for other, us in there.items() if other >= number)
        >= LEAST_PRESENT * profile.steady_us
    )
    return next(most, 0) or min(1, len(processes))


def group(loads: Collection[Workload]) -> str:
    """``8 environment workers``, ``3 processes`` of several roles, ``the learner (pid 12)``."""
    first, *others = loads
    if not others:
        return f"the {first.role} process (pid {first.pid})"
    roles = {load.role for load in loads}
    return f"{len(loads)} {first.role}s" if len(roles) == 1 else f"{len(loads)} processes"


def busiest_lines(loads: Collection[Workload], profile: Profile) -> tuple[Location, ...]:
    """The user's lines in which the main threads of ``loads`` work most."""
    weights: dict[Line, float] = defaultdict(float)
    wall_us = sum(workload.main.wall_us for workload in loads)
    for load in loads:
        worked = (
            (node, cost.busy_us)
            for node, cost in load.main.tree.self_costs()
            if profile.wait_kinds.get(node) is not WaitKind.POLL
        )
        for line, us in UserLines.of(profile, load.main.tree).times(worked).items():
            weights[line] += us
    lines = UserLines.of(profile)
    return lines.locations(weights, wall_us)[:SHOWN_LINES] if weights else ()
