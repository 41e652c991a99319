"""Tell what each part of training costs, and how fast it alone would let it be. With the waits, they are all of the time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlprof.model.activity import FOR_OTHERS, Activity, Component, HostLoad, WaitKind
from rlprof.model.calltree import CallTree
from rlprof.model.counters import phase_of_counter
from rlprof.profile.components import OTHER

IPC_WAIT: Final = "IPC wait"
EVENT_WAIT: Final = "event loop wait"
"""In the event loop of a run of one thread, which waits for nobody in the run."""
LOCK_WAIT: Final = "lock wait"
GIL_WAIT: Final = "GIL wait"
ASLEEP: Final = "asleep"
"""Until a time of day, in no part of training: a sleep in an environment is the environment's."""
WAITING_FOR_A_CORE: Final = "waiting for a core"
NO_PYTHON: Final = "threads without Python"
"""On a full host, where all CPU time counts: what BLAS, OpenMP and torch pools burn."""

WAITS: Final = frozenset({IPC_WAIT, EVENT_WAIT, LOCK_WAIT, GIL_WAIT, ASLEEP, WAITING_FOR_A_CORE})
"""Rows in which nothing gets done. No part of training has such a name."""

SHARES_THE_WORK: Final = 0.25
"""Part of the busiest thread's time in a component from which on another does it side by side."""

MOST_ASLEEP: Final = 0.2
"""Part of a part's time asleep, up to which its CPU time tells how fast it could be: an environment in real time, or one far away, takes its
time whatever else is free."""

LEAST_ON_CPU: Final = 0.5
"""The same of phases that a program marks, of which nothing tells sleep from waits for a core."""

LEAST_SHARE: Final = 0.002
"""Least share of the time and of all CPU time: what is below it is told with the rest."""


def component_of(node: int, *, idle: bool, kind: WaitKind | None, names: Sequence[str]) -> str:
    """The component of a node's idle or busy time: a wait for others is none of its caller's."""
    if kind is WaitKind.POLL or (idle and kind in FOR_OTHERS):
        return IPC_WAIT
    if idle and kind is WaitKind.OWN_EVENTS:
        return EVENT_WAIT
    if idle and kind is WaitKind.LOCK:
        return LOCK_WAIT
    if idle and kind is WaitKind.GIL:
        return GIL_WAIT
    if idle and kind is WaitKind.SLEEP and names[node] == OTHER:
        return ASLEEP
    return names[node]


def process_components(
    costs: Mapping[int, Mapping[int, Sequence[int]]],
    process_of: Sequence[int],
    kinds: Mapping[int, WaitKind],
    names: Sequence[str],
) -> dict[int, dict[str, int]]:
    """Busy µs by component of each process; ``costs`` is ``SteadyThreads.costs``."""
    found: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for thread, nodes in costs.items():
        for node, (wall, idle, _) in nodes.items():
            name = component_of(node, idle=False, kind=kinds.get(node), names=names)
            found[process_of[thread]][name] += wall - idle
    return {process: dict(parts) for process, parts in found.items()}


@dataclass(slots=True)
class _TimeByComponent:
    """The time that prices are shares of, by component (µs)."""

    own_us: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Waits for a core left out, which are a component of their own: all of them are the whole time."""
    priced_us: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """With its waits for a core, as findings count it."""

    def adds(self, name: str, us: float, *, queued_us: float = 0.0) -> None:
        self.own_us[name] += us
        self.own_us[WAITING_FOR_A_CORE] += queued_us
        self.priced_us[name] += us + queued_us


def measure_components(
    activities: Collection[Activity],
    steady: CallTree,
    critical_us: int,
    load: HostLoad,
    steps: float,
    kinds: Mapping[int, WaitKind],
    names: Sequence[str],
    *,
    has_ceilings: bool = True,
) -> tuple[Component, ...]:
    """Cost and ceiling of each component, the largest share first. Their shares add up to 1.

    Ceiling: ``parallel`` threads that do nothing else make ``parallel * steps / cpu time`` steps
    per second. CPU time, since what waits for a CPU waits for the other components; of what sleeps there is none.
    """
    split = _split(activities, steady, critical_us, load, kinds, names)
    cpu, asleep = _by_thread(activities, kinds, names)
    whole_us = sum(split.own_us.values())
    all_cpu_us = sum(sum(threads.values()) for threads in cpu.values())
    if not whole_us:
        return ()
    together: dict[str, list[str]] = defaultdict(list)
    for name in sorted({*split.own_us, *cpu}):
        is_small = (
            split.own_us[name] < LEAST_SHARE * whole_us
            and split.priced_us[name] < LEAST_SHARE * critical_us
            and sum(cpu[name].values()) <= LEAST_SHARE * all_cpu_us
        )
        together[OTHER if is_small else name].append(name)
    rows = []
    for shown, own in together.items():
        threads: dict[int, int] = defaultdict(int)
        for thread, us in (item for name in own for item in cpu[name].items()):
            threads[thread] += us
        total = sum(threads.values())
        most = max(threads.values(), default=0)
        doing = [thread for thread, us in threads.items() if us >= SHARES_THE_WORK * most and us]
        parallel = min(float(len(doing)), load.cores)
        worked_us = sum(threads[thread] for thread in doing)
        asleep_us = sum(asleep[name].get(thread, 0) for name in own for thread in doing)
        is_awake = asleep_us <= MOST_ASLEEP * (asleep_us + worked_us)
        can_tell = has_ceilings and steps and total and is_awake and shown not in WAITS
        rows.append(
            Component(
                shown,
                sum(split.own_us[name] for name in own) / whole_us,
                total / steps if steps else 0.0,
                parallel,
                parallel * steps * 1e6 / total if can_tell else None,
                priced_share=sum(split.priced_us[name] for name in own) / max(1, critical_us),
            )
        )
    rows = [row for row in rows if row.share or row.priced_share or row.per_step_us or row.parallel]
    rows.sort(key=lambda row: (-row.share, -row.per_step_us, row.name))
    return tuple(rows)


def _split(
    activities: Collection[Activity],
    steady: CallTree,
    critical_us: int,
    load: HostLoad,
    kinds: Mapping[int, WaitKind],
    names: Sequence[str],
) -> _TimeByComponent:
    split = _TimeByComponent()
    knows_cpu = load.got_us > 0
    for node, cost in steady.self_costs():
        kind = kinds.get(node)
        split.adds(component_of(node, idle=True, kind=kind, names=names), cost.idle_us)
        name = component_of(node, idle=False, kind=kind, names=names)
        # A loop that polls waits, with a core or without one.
        queued = max(0, cost.busy_us - cost.cpu_us) if knows_cpu and name != IPC_WAIT else 0
        split.adds(name, cost.busy_us - queued, queued_us=queued)
    if load.saturated and split.own_us:
        # Prices are shares of all CPU time; what queues for it is beside them.
        rest = max(0.0, critical_us - sum(split.own_us.values()))
        without_python = min(rest, _without_python_us(activities, load))
        split.adds(NO_PYTHON, without_python)
        split.adds(OTHER, rest - without_python)
        split.own_us[WAITING_FOR_A_CORE] += load.queued_us
    return split


def _without_python_us(activities: Collection[Activity], load: HostLoad) -> float:
    """CPU time of processes beyond that of their Python threads. Of a process that was not sampled nothing is known."""
    python: dict[int, float] = defaultdict(float)
    for activity in activities:
        python[activity.process] += activity.on_cpu_us
    return sum(
        max(0.0, us - python[process]) for process, us in load.by_process if process in python
    )


def _by_thread(
    activities: Collection[Activity], kinds: Mapping[int, WaitKind], names: Sequence[str]
) -> tuple[dict[str, dict[int, int]], dict[str, dict[int, int]]]:
    """The CPU time of each component by thread, and the time that it is asleep there (µs)."""
    cpu: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    asleep: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for activity in activities:
        for node, cost in activity.tree.self_costs():
            kind = kinds.get(node)
            if cost.cpu_us:
                name = component_of(node, idle=False, kind=kind, names=names)
                cpu[name][activity.thread] += cost.cpu_us
            if cost.idle_us:
                name = component_of(node, idle=True, kind=kind, names=names)
                asleep[name][activity.thread] += cost.idle_us
    return cpu, asleep


def marked_phases(
    counts: Mapping[int, Mapping[str, float]],
    critical: Collection[int],
    critical_us: int,
    steps: float,
    cores: float,
    *,
    has_ceilings: bool = True,
) -> tuple[Component, ...]:
    """The program's own ``rlprof.phase`` marks; ``critical`` holds ids of the critical processes."""
    wall: dict[str, float] = defaultdict(float)
    in_all: dict[str, float] = defaultdict(float)
    cpu: dict[str, list[float]] = defaultdict(list)
    for process, named in counts.items():
        for name, value in named.items():
            marked = phase_of_counter(name)
            if marked is None:
                continue
            phase, what = marked
            if what == "wall_ns":
                in_all[phase] += value / 1000
                wall[phase] += value / 1000 if process in critical else 0.0
            elif what == "cpu_ns":
                cpu[phase].append(value / 1000)
    rows = []
    for phase in sorted(cpu):
        total = sum(cpu[phase])
        doing = sum(1 for us in cpu[phase] if us >= SHARES_THE_WORK * max(cpu[phase]) and us)
        parallel = min(float(doing), cores)
        is_awake = total >= LEAST_ON_CPU * in_all[phase]
        rows.append(
            Component(
                name=phase,
                share=min(1.0, wall[phase] / critical_us) if critical_us else 0.0,
                per_step_us=total / steps if steps else 0.0,
                parallel=parallel,
                ceiling_sps=parallel * steps * 1e6 / total
                if has_ceilings and steps and total and is_awake
                else None,
                is_marked=True,
            )
        )
    rows.sort(key=lambda row: (-row.share, row.name))
    return tuple(rows)
