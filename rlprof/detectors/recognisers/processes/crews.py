"""Masters and the servants that they drive: who asks whom, message by message."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rlprof.libraries.base import Duty, Transport
from rlprof.libraries.questions import duty_of
from rlprof.model.activity import FOR_OTHERS, Activity, WaitKind
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, UNLOCATED, Frame
from rlprof.profile.roles import DATA_LOADER, INFERENCE, LEARNER, LOGGER, SERVICES, ancestors
from rlprof.source.lines import Line, last_name
from rlprof.syntax.origin import Origin, origin

LEAST_WAITING: Final = calibrated(
    0.1,
    unit="part of its time",
    source="eight workers with a cheap environment on two full cores: each slept 0.5 or more",
    date="2026-11-21",
)
"""Part of its time asleep until a message comes, from which on a process is a servant; a free-running actor
that looks for new weights in between does not sleep."""

PAUSES_AT_A_LINE: Final = calibrated(
    0.3,
    unit="part of the time asleep for no known reason",
    source="PPO with CartPole in 4 and 8 workers of AsyncVectorEnv, which never sleep in their own work: 0.14 "
    "to 0.24 of it at the heaviest line, 8 to 89 µs a step in all",
    date="2026-11-23",
)
"""Part of it that a line has to have for the time there to be a real pause."""


_ELSEWHERE: Final = frozenset({DATA_LOADER, INFERENCE, LEARNER, LOGGER})
"""Roles of workers that do another part of training than stepping environments."""

_RECEIVES: Final = frozenset({"recv", "recv_bytes", "get"})
_SENDS: Final = frozenset({"send", "send_bytes", "put"})
_CARRIERS: Final = ("multiprocessing/connection.py", "multiprocessing/queues.py")


@dataclass(frozen=True, slots=True)
class Split:
    """Time of one thread in the steady phase: its own work, and getting data about (µs)."""

    own_cpu_us: int = 0
    own_busy_us: int = 0
    """The same with its waits for a CPU."""
    transport_cpu_us: int = 0
    unlocated_cpu_us: int = 0
    """On lines that nobody knows."""
    slept_us: int = 0
    """Until a time of day: it stays, whoever does the work."""

    def plus(self, other: Split) -> Split:
        return Split(
            self.own_cpu_us + other.own_cpu_us,
            self.own_busy_us + other.own_busy_us,
            self.transport_cpu_us + other.transport_cpu_us,
            self.unlocated_cpu_us + other.unlocated_cpu_us,
            self.slept_us + other.slept_us,
        )


def split_work(
    activity: Activity, transport: Mapping[int, Transport], kinds: Mapping[int, WaitKind]
) -> Split:
    """Own work, transport and sleep of a thread; loops that poll are transport."""
    own = busy = moved = unlocated = slept = 0
    for node, cost in activity.tree.self_costs():
        kind = kinds.get(node)
        if activity.tree.frame(node).function in UNLOCATED:
            unlocated += cost.cpu_us
        elif node in transport or kind is WaitKind.POLL:
            moved += cost.cpu_us
        else:
            own += cost.cpu_us
            busy += cost.busy_us
            if kind is WaitKind.SLEEP:
                slept += cost.idle_us
    return Split(own, busy, moved, unlocated, slept)


def paused_us(
    threads: Iterable[Activity], transport: Mapping[int, Transport], kinds: Mapping[int, WaitKind]
) -> int:
    """Time that ``threads`` of one kind are asleep in their own work, for a reason that is not known.

    Whoever wakes up between the two looks of the clock, at its state and then at its stack, is seen asleep on
    lines that never sleep. Such lines are many; who waits for a device or a simulator does it at a few.
    """
    by_line: dict[tuple[str, int], int] = defaultdict(int)
    for thread in threads:
        tree = thread.tree
        for node, cost in tree.self_costs():
            frame = tree.frame(node)
            if cost.idle_us and node not in transport and not _is_known(frame, kinds.get(node)):
                by_line[frame.file, frame.line] += cost.idle_us
    whole = sum(by_line.values())
    return sum(us for us in by_line.values() if us >= PAUSES_AT_A_LINE * whole)


def _is_known(frame: Frame, kind: WaitKind | None) -> bool:
    """Tell whether it is known why a thread sleeps there, or not known where it sleeps."""
    known = kind in FOR_OTHERS or kind in (WaitKind.LOCK, WaitKind.SLEEP, WaitKind.OWN_EVENTS)
    return known or frame.function in UNLOCATED


@dataclass(frozen=True, slots=True)
class Crew:
    """A process and the workers that act when it says so, by their main threads."""

    master: Activity
    servants: tuple[Activity, ...]

    @property
    def processes(self) -> frozenset[int]:
        return frozenset({self.master.process, *(servant.process for servant in self.servants)})


def find_crews(profile: Profile) -> tuple[Crew, ...]:
    """Crews in lock-step: the master sends and takes, the servants take, work and send.

    Actors that only send what they made are nobody's servants, whoever reads it.
    """
    mains = _main_activities(profile)
    by_pid = {process.pid: process for process in profile.processes}
    crews: dict[int, list[Activity]] = {}
    for process in profile.processes:
        servant = mains.get(process.id)
        if servant is None or servant.role in _ELSEWHERE or loads_data(servant.tree):
            continue
        boss = next(
            (parent.id for parent in ancestors(process, by_pid) if parent.id in mains),
            None,
        )
        if boss is not None:
            crews.setdefault(boss, []).append(servant)
    return tuple(
        Crew(mains[boss], servants)
        for boss, workers in sorted(crews.items())
        if _gives_orders(mains[boss]) and (servants := _servants(workers))
    )


def loads_data(tree: CallTree) -> bool:
    """Tell whether a process loads batches for another: one that lives too short to be seen at its work has no role of its own yet."""
    seen = tree.with_callers(node for node, _ in tree.self_costs())
    return any(duty_of(tree.frame(node)) is Duty.LOADS_DATA for node in seen)


def _main_activities(profile: Profile) -> dict[int, Activity]:
    return {
        activity.process: activity
        for activity in profile.activities
        if activity.is_main and activity.role not in SERVICES and activity.wall_us
    }


def _servants(workers: Iterable[Activity]) -> tuple[Activity, ...]:
    """Those that take orders, by themselves or with the others that wait at the same line: for a core that is not free some of them wait longer,
    and sleep less.
    """
    waiting = [_Waiting.of(worker) for worker in workers]
    together: dict[Line, list[_Waiting]] = defaultdict(list)
    for each in waiting:
        for line in each.lines:
            together[line].append(each)
    return tuple(
        each.worker
        for each in waiting
        if _take_orders([each]) or any(_take_orders(together[line]) for line in each.lines)
    )


def _take_orders(workers: Sequence[_Waiting]) -> bool:
    """Tell whether they sleep until a message comes; ``get_nowait`` and the like do not wait."""
    asleep = sum(each.asleep_us for each in workers)
    return asleep >= LEAST_WAITING * sum(each.worker.wall_us for each in workers)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A worker's waits for messages."""

    worker: Activity
    asleep_us: int
    lines: frozenset[Line]
    """Those that ask for one."""

    @classmethod
    def of(cls, worker: Activity) -> _Waiting:
        tree = worker.tree
        entries = list(_entries(tree, _RECEIVES))
        callers = (tree.nodes[node].parent for node in entries)
        frames = (tree.frame(caller) for caller in callers if caller != NO_PARENT)
        return cls(
            worker,
            sum(tree.total_cost(node).idle_us for node in entries),
            frozenset(Line(frame.file, frame.line, frame.function) for frame in frames),
        )


def _gives_orders(activity: Activity) -> bool:
    return any(_entries(activity.tree, _SENDS)) and any(_entries(activity.tree, _RECEIVES))


def _entries(tree: CallTree, functions: frozenset[str]) -> Iterator[int]:
    """Yield the calls of ``functions`` by code that is not itself part of a message's way."""
    for node in tree.hot_nodes():
        frame = tree.frame(node)
        parent = tree.nodes[node].parent
        by_stdlib = parent != NO_PARENT and origin(tree.frame(parent)) is Origin.STDLIB
        if last_name(frame.function) in functions and _is_carrier(frame) and not by_stdlib:
            yield node


def _is_carrier(frame: Frame) -> bool:
    return frame.file.replace("\\", "/").endswith(_CARRIERS)
