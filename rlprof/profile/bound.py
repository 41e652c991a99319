"""Tell what the steady rate is bound by, and how to say it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from rlprof.model.activity import (
    FOR_OTHERS,
    NOT_BOUND,
    Activity,
    Bound,
    BoundBy,
    HostLoad,
    Wait,
    WaitKind,
)
from rlprof.model.recording import Process
from rlprof.profile.sleepers import Sleeper
from rlprof.source.lines import short_place
from rlprof.units import percent

MOSTLY: Final = 0.5
"""Part of the critical time from which on one thing is what bounds it."""

LEAST_QUEUED: Final = 0.05
"""Part of the critical time in the run queue from which on it is told: to be at work without a core is none."""

LEAST_HELD_UP: Final = 0.3
"""Part of the critical time that is waited for a thread that sleeps, from which on its sleep is what bounds the rate."""

WORKED_MEANWHILE: Final = 0.3
"""Part of a wait in which another process has to work for the wait to be for it."""


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
