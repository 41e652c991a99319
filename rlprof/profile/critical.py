"""The critical resource: what the steady throughput is bound by, and what each µs on it is worth.

Three rules, in this order (``docs/pricing.md`` explains them):

1. The critical threads are the main threads of the processes that make the steps or, where no
   step is counted, those that are busy at least a quarter as long as the busiest. A main thread that
   only sleeps is none: the threads of its process that work stand for it.
2. A saturated host is bound by its CPUs: every thread's CPU time counts, wherever it is spent.
3. Else, while a critical thread waits for other processes, their work stands in for the wait
   (``profile/helping.py``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rlprof.model.activity import (
    FOR_OTHERS,
    NOT_BOUND,
    WORKED_MEANWHILE,
    Activity,
    Bound,
    BoundBy,
    HostLoad,
    Wait,
    WaitKind,
)
from rlprof.model.calltree import Cost
from rlprof.model.profile import Critical
from rlprof.model.recording import UNLOCATED, Process, Recording
from rlprof.pace.load import wants_more_cores
from rlprof.pace.phases import RunPhases
from rlprof.pace.steps import Span, StepCounts
from rlprof.pace.times import Times
from rlprof.profile.activities import SteadyThreads
from rlprof.profile.fold import TimeTree
from rlprof.profile.roles import SERVICES
from rlprof.profile.sleepers import LEAST_HELD_UP, Sleeper
from rlprof.source.lines import short_place
from rlprof.units import percent

MOSTLY: Final = 0.5
"""Part of the critical time from which on one thing is what bounds it."""

LEAST_QUEUED: Final = 0.05
"""Part of the critical time in the run queue from which on it is told: to be at work without a core is none."""

_NEAR_THE_BUSIEST: Final = 0.25
"""Part of the busiest main thread's busy time from which on another does the same work."""

_SLEEPS: Final = 0.9
"""Part of its time that a main thread sleeps which does nothing but look now and then how its threads get on. By reason."""

_DEFAULT_INTERVAL_US: Final = 10_000


@dataclass(frozen=True, slots=True)
class CriticalThreads:
    threads: frozenset[int]
    steady: Mapping[int, Span]
    """Steady windows of each."""


def find_critical_threads(
    recording: Recording, counts: StepCounts, found: RunPhases, times: Times
) -> CriticalThreads:
    if found.steady is None:
        return CriticalThreads(frozenset(), {})
    mains = {thread.id: thread.process for thread in recording.threads if thread.is_main}
    if counts.spans and counts.known_processes:
        spans = {
            thread: counts.spans[process]
            for thread, process in mains.items()
            if process in counts.spans
        }
    else:
        last = len(recording.windows) - 1
        spans = {thread: Span(found.ready[process], last) for thread, process in mains.items()}
    steady = {
        thread: Span(max(span.first, found.steady.first), min(span.last, found.steady.last))
        for thread, span in spans.items()
    }
    steady = {thread: span for thread, span in steady.items() if span.first <= span.last}
    if not (counts.spans and counts.known_processes):
        steady = _busiest(steady, times)
    return CriticalThreads(frozenset(steady), steady)


def _busiest(steady: Mapping[int, Span], times: Times) -> dict[int, Span]:
    busy = {
        thread: sum(times.busy_us[times.span(thread, span.first, span.last)])
        for thread, span in steady.items()
    }
    most = max(busy.values(), default=0)
    return {
        thread: span
        for thread, span in steady.items()
        if busy[thread] > 0 and busy[thread] >= _NEAR_THE_BUSIEST * most
    }


def with_threads_awake(
    critical: CriticalThreads, recording: Recording, threads: SteadyThreads
) -> CriticalThreads:
    """Add those that stand for a main thread that only sleeps: the threads of its process that are near the busiest."""
    steady: dict[int, Span] = {}
    for main, span in critical.steady.items():
        process = recording.threads[main].process
        whole = sum(wall for wall, _, _ in threads.costs.get(main, {}).values())
        asleep_us = sum(threads.waited_us.get((main, WaitKind.SLEEP), {}).values())
        busy = {
            thread.id: sum(
                wall - idle for wall, idle, _ in threads.costs.get(thread.id, {}).values()
            )
            for thread in recording.threads
            if thread.process == process and asleep_us >= _SLEEPS * whole
        }
        most = max(busy.values(), default=0)
        awake = [thread for thread, us in busy.items() if us >= max(1, _NEAR_THE_BUSIEST * most)]
        steady |= dict.fromkeys(awake or [main], span)
    return CriticalThreads(frozenset(steady), steady)


def place_threads(
    recording: Recording,
    found: RunPhases,
    critical: CriticalThreads,
    roles: Mapping[int, str],
    *,
    all_threads_help: bool,
) -> bytearray:
    """A ``TimeTree`` for each cell of ``Times``."""
    count = len(recording.windows)
    places = bytearray(len(recording.threads) * count)
    working = {recording.threads[thread].process for thread in critical.threads}
    for thread in recording.threads:
        start = thread.id * count
        if thread.is_main:
            ready = min(found.ready.get(thread.process, 0), count)
            places[start : start + ready] = bytes([TimeTree.START_UP]) * ready
            places[start + ready : start + count] = bytes([TimeTree.BESIDE]) * (count - ready)
        serves = roles.get(thread.process) in SERVICES
        # Threads beside a critical one may be what it waits for: a pool, an executor.
        beside = thread.process in working
        helps = all_threads_help or ((thread.is_main or beside) and not serves)
        if helps and found.steady is not None:
            for cell in range(start + found.steady.first, start + found.steady.last + 1):
                if places[cell] != TimeTree.START_UP:
                    places[cell] = TimeTree.HELPING
        if thread.id in critical.threads:
            span = critical.steady[thread.id]
            cells = slice(start + span.first, start + span.last + 1)
            places[cells] = bytes([TimeTree.CRITICAL]) * (span.last - span.first + 1)
    return places


def describe_critical(
    recording: Recording,
    critical: CriticalThreads,
    times: Times,
    costs: Mapping[int, Cost],
    load: HostLoad,
) -> Critical:
    """The denominator of steady prices, and what is known of its accuracy."""
    located = sum(cost.wall_us for cost in costs.values())
    busy = sum(cost.busy_us for cost in costs.values())
    unlocated = sum(
        cost.busy_us
        for node, cost in costs.items()
        if recording.nodes[node].frame.function in UNLOCATED
    )
    # CPU time of threads that are not Python's is in no sample, and no fix saves it.
    wall_us = max(located, load.got_us) if load.saturated and costs else located
    return Critical(
        threads=critical.threads,
        wall_us=wall_us,
        sample_interval_us=_sample_interval_us(recording, critical, times),
        torn_share=unlocated / busy if busy else 0.0,
        clock_only_share=_clock_only_share(recording, critical, times),
        in_step_us=min(_in_step_us(load), wall_us - located),
    )


def _in_step_us(load: HostLoad) -> int:
    """CPU time of a team that has cores enough but for other programs. Beside one of them a message that took
    0.04 of all CPU time, and 0.09 of that of Python, saved 0.15 to 0.42 (``benchmarks/crowded.py``; the shares by hand). Where the
    run's own threads are too many, barriers cost what they cost.
    """
    return load.native_us if load.is_shared and not wants_more_cores(load) else 0


def _clock_only_share(recording: Recording, critical: CriticalThreads, times: Times) -> float:
    busy = blind = 0
    for thread, span in critical.steady.items():
        own = sum(times.busy_us[times.span(thread, span.first, span.last)])
        busy += own
        if not recording.processes[recording.threads[thread].process].probe_samples:
            blind += own
    return blind / busy if busy else 0.0


def _sample_interval_us(recording: Recording, critical: CriticalThreads, times: Times) -> int:
    """Mean time between samples of the critical threads, over the life of their processes.

    Busy time is placed by the probe where there is one, and the probe ticks in CPU time: on a
    host that is shared its samples are few. Else the clock's ticks count.
    """
    wall_of_process: dict[int, int] = {}
    for thread in recording.threads:
        cells = times.span(thread.id, 0, times.windows - 1)
        wall = sum(times.busy_us[cells]) + sum(times.idle_us[cells])
        wall_of_process[thread.process] = wall_of_process.get(thread.process, 0) + wall
    covered_us = 0
    samples = 0.0
    for number in critical.threads:
        process = recording.processes[recording.threads[number].process]
        cells = times.span(number, 0, times.windows - 1)
        busy = sum(times.busy_us[cells])
        if process.probe_samples:
            covered_us += busy
            samples += process.probe_samples
        else:
            wall = busy + sum(times.idle_us[cells])
            covered_us += wall
            # The clock's ticks are those of all threads of the process.
            samples += process.clock_samples * wall / max(1, wall_of_process[process.id])
    requested = max((process.requested_interval_us for process in recording.processes), default=0)
    # Samples of neither instrument (a foreign run file) are taken at the rate asked for.
    interval = round(covered_us / samples) if samples else 0
    return interval or requested or _DEFAULT_INTERVAL_US


def find_bound(
    activities: Sequence[Activity],
    waits: Sequence[Wait],
    load: HostLoad,
    roles: Mapping[int, str],
    processes: Sequence[Process],
    sleeper: Sleeper | None = None,
) -> Bound:
    """The critical resource: the CPUs, some processes, a lock, or nothing inside the run."""
    critical = [activity for activity in activities if activity.is_critical]
    wall = sum(activity.wall_us for activity in critical)
    if not wall:
        return NOT_BOUND
    if load.saturated:
        used_us = load.got_us / load.own_part
        wanted = (used_us + load.queued_us) / load.available_us
        who = "the run and other programs want" if load.is_shared else "the run wants"
        return Bound(
            BoundBy.CPUS,
            share=load.got_us / load.available_us,
            text=f"the CPUs: {who} {wanted:.1f} times the {load.cores:g} cores there are",
        )
    own = {activity.process for activity in critical}
    working = sum(activity.working_us for activity in critical) / wall
    if working >= MOSTLY:
        queued = min(working, sum(activity.run_queue_us for activity in critical) / wall)
        text = f"{_named(own, roles, processes)}, working {percent(working)} of the time"
        if queued >= LEAST_QUEUED:
            at_work = f"working {percent(working - queued)} of the time"
            text = f"{_named(own, roles, processes)}, {at_work} and waiting for a core {percent(queued)}"
        return Bound(BoundBy.PROCESS, tuple(sorted(own)), working, text)
    kinds: dict[WaitKind, float] = defaultdict(float)
    for wait in waits:
        if wait.process in own and wait.thread in {activity.thread for activity in critical}:
            kinds[wait.kind] += wait.wall_us / wall
    for_others = sum(share for kind, share in kinds.items() if kind in FOR_OTHERS)
    is_most = for_others == max((for_others, *kinds.values()))
    if sleeper is not None and is_most and sleeper.waited_us >= LEAST_HELD_UP * wall:
        return _bound_by_sleep(sleeper, sleeper.waited_us / wall, own, roles, processes)
    return _bound_by_wait(own, kinds, waits, roles, processes)


def _bound_by_sleep(
    sleeper: Sleeper,
    waited: float,
    own: Collection[int],
    roles: Mapping[int, str],
    processes: Sequence[Process],
) -> Bound:
    who = _named([sleeper.process], roles, processes)
    text = (
        f"{who if sleeper.is_main else f'a thread of {who}'}, which sleeps {percent(sleeper.part)} of the time at "
        f"{short_place(sleeper.line)}, and {_named(own, roles, processes)} {_do(own, 'wait')} for it {percent(waited)}"
    )
    return Bound(BoundBy.PROCESS, (sleeper.process,), waited, text)


def _bound_by_wait(
    own: Collection[int],
    kinds: Mapping[WaitKind, float],
    waits: Sequence[Wait],
    roles: Mapping[int, str],
    processes: Sequence[Process],
) -> Bound:
    for_others = sum(share for kind, share in kinds.items() if kind in FOR_OTHERS)
    lock = kinds.get(WaitKind.LOCK, 0.0)
    gil = kinds.get(WaitKind.GIL, 0.0)
    asleep = kinds.get(WaitKind.SLEEP, 0.0) + kinds.get(WaitKind.UNKNOWN, 0.0)
    events = kinds.get(WaitKind.OWN_EVENTS, 0.0)
    most = max(for_others, lock, gil, asleep, events)
    who = _named(own, roles, processes)
    if not most:
        return NOT_BOUND
    if most == lock:
        return Bound(
            BoundBy.LOCK,
            tuple(sorted(own)),
            lock,
            f"a lock: {who} {_do(own, 'wait')} for it {percent(lock)}",
        )
    if most == gil:
        text = f"the interpreter lock: {_main_threads(own, who)} {_do(own, 'wait')} for it {percent(gil)}"
        return Bound(BoundBy.LOCK, tuple(sorted(own)), gil, text)
    awaited = _awaited(own, waits)
    if most == for_others and awaited and awaited <= set(own):
        text = f"threads beside {_main_threads(own, who)}, which {_do(own, 'wait')} for them {percent(for_others)}"
        return Bound(BoundBy.PROCESS, tuple(sorted(own)), for_others, text)
    if most == for_others and awaited:
        text = f"{_named(awaited, roles, processes)}, for which {who} {_do(own, 'wait')} {percent(for_others)}"
        return Bound(BoundBy.PROCESS, tuple(sorted(awaited)), for_others, text)
    if most == for_others:
        between = "processes" if len(processes) > 1 else "threads"
        text = (
            f"waits between {between} in which none of them works ({percent(for_others)} of {who})"
        )
        return Bound(BoundBy.UNKNOWN, tuple(sorted(own)), for_others, text)
    if most == events:
        text = f"its event loop, in which {who} {_do(own, 'wait')} {percent(events)} of the time for timers, sockets or other programs"
        return Bound(BoundBy.OUTSIDE, tuple(sorted(own)), events, text)
    text = f"no part of this run: {who} {_do(own, 'sleep')} {percent(asleep)} of the time"
    return Bound(BoundBy.OUTSIDE, tuple(sorted(own)), asleep, text)


def _awaited(own: Collection[int], waits: Sequence[Wait]) -> set[int]:
    """Processes that worked for a good part of the critical threads' waits for others."""
    waited = 0.0
    worked: dict[int, float] = defaultdict(float)
    for wait in waits:
        if wait.process in own and wait.kind in FOR_OTHERS:
            waited += wait.wall_us
            for process, part in wait.on:
                worked[process] += part * wait.wall_us
    return {other for other, us in worked.items() if us >= WORKED_MEANWHILE * waited}


def _do(ids: Collection[int], verb: str) -> str:
    return f"{verb}s" if len(ids) == 1 else verb


def _main_threads(ids: Collection[int], who: str) -> str:
    return f"the main thread{'' if len(ids) == 1 else 's'} of {who}"


def _named(ids: Collection[int], roles: Mapping[int, str], processes: Sequence[Process]) -> str:
    """``the learner (pid 12)``, ``8 environment workers``."""
    by_role: dict[str, list[int]] = defaultdict(list)
    for process in sorted(ids):
        by_role[roles.get(process, "process")].append(process)
    parts = [
        f"the {role} process (pid {processes[members[0]].pid})"
        if len(members) == 1
        else f"{len(members)} {role} processes"
        for role, members in by_role.items()
    ]
    return " and ".join(parts)
