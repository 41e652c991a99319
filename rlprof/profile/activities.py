"""Tell what each thread did in the steady phase, and who worked while it waited."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlprof.model.activity import Activity, Wait, WaitKind
from rlprof.model.calltree import CallTree, Cost
from rlprof.model.recording import NO_PARENT, Frame, Process, Recording, Thread
from rlprof.pace.steps import Span
from rlprof.pace.times import Times
from rlprof.profile.roles import SERVICES

LEAST_WAIT: Final = 0.01
"""Part of the steady phase from which on a wait is an edge of the graph."""

_FROM_PARENT_TO_CHILDREN: Final = frozenset({WaitKind.FUTURE, WaitKind.JOIN})

_WITHIN_PROCESS: Final = (
    "/queue.py",
    "/threading.py",
    "/asyncio/",
    "/concurrent/futures/thread.py",
)
"""Modules whose waits end by a thread of the same process."""


@dataclass(slots=True)
class SteadyThreads:
    """Self costs of the steady phase by thread, and waits by (thread, kind, window)."""

    costs: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    """thread -> node -> [wall, idle, cpu] µs; imports left out."""
    waited_us: dict[tuple[int, WaitKind], dict[int, int]] = field(default_factory=dict)
    """(thread, kind) -> window -> µs."""
    wait_nodes: dict[tuple[int, WaitKind], set[int]] = field(default_factory=dict)
    polling_us: dict[int, int] = field(default_factory=dict)
    """thread -> busy µs in loops that poll."""
    polling_in: dict[tuple[int, int], int] = field(default_factory=dict)
    """(thread, window) -> the same."""


def sum_threads(
    recording: Recording,
    steady: Span | None,
    importing: bytearray,
    kinds: Mapping[int, WaitKind],
) -> SteadyThreads:
    """One pass over the samples of the steady phase."""
    found = SteadyThreads()
    if steady is None:
        return found
    first, last = steady
    for window, thread, node, wall, idle, cpu in recording.samples.rows():
        if window < first or window > last or importing[node]:
            continue
        costs = found.costs.setdefault(thread, {})
        cost = costs.get(node)
        if cost is None:
            costs[node] = [wall, idle, cpu]
        else:
            cost[0] += wall
            cost[1] += idle
            cost[2] += cpu
        kind = kinds.get(node)
        if kind is WaitKind.POLL:
            found.polling_us[thread] = found.polling_us.get(thread, 0) + wall - idle
            cell = (thread, window)
            found.polling_in[cell] = found.polling_in.get(cell, 0) + wall - idle
            _add_wait(found, thread, kind, window, node, wall)
        elif idle:
            _add_wait(found, thread, kind or WaitKind.UNKNOWN, window, node, idle)
    return found


def _add_wait(
    found: SteadyThreads, thread: int, kind: WaitKind, window: int, node: int, us: int
) -> None:
    key = (thread, kind)
    windows = found.waited_us.setdefault(key, {})
    windows[window] = windows.get(window, 0) + us
    found.wait_nodes.setdefault(key, set()).add(node)


def describe_activities(
    recording: Recording,
    steady: Span | None,
    threads: SteadyThreads,
    roles: Mapping[int, str],
    critical: frozenset[int],
) -> tuple[Activity, ...]:
    if steady is None:
        return ()
    schedule: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for clock in recording.clocks:
        if steady.first <= clock.window <= steady.last:
            schedule[clock.thread][0] += clock.on_cpu_us
            schedule[clock.thread][1] += clock.run_queue_us
    return tuple(
        _activity(recording.threads[number], recording, threads, roles, critical, schedule[number])
        for number in sorted(threads.costs)
    )


def _activity(
    thread: Thread,
    recording: Recording,
    threads: SteadyThreads,
    roles: Mapping[int, str],
    critical: frozenset[int],
    schedule: list[int],
) -> Activity:
    tree = CallTree(
        recording.nodes, {node: Cost(*cost) for node, cost in threads.costs[thread.id].items()}
    )
    total = tree.total
    # The kernel's figures are of all that the thread did in that time, with its imports.
    not_running_us = max(0, total.wall_us - total.idle_us - total.cpu_us)
    return Activity(
        thread=thread.id,
        process=thread.process,
        role=roles.get(thread.process, ""),
        is_main=thread.is_main,
        is_critical=thread.id in critical,
        tree=tree,
        wall_us=total.wall_us,
        idle_us=total.idle_us,
        on_cpu_us=schedule[0],
        run_queue_us=min(schedule[1], not_running_us),
        polling_us=threads.polling_us.get(thread.id, 0),
    )


def wait_graph(
    recording: Recording,
    steady: Span | None,
    threads: SteadyThreads,
    times: Times,
    roles: Mapping[int, str],
) -> tuple[Wait, ...]:
    """Return who waited, and who worked meanwhile; the longest first.

    A wait is for those related processes (or, for waits within a process, its other threads) that
    worked in the same windows: nothing that the sampler sees says more.
    """
    if steady is None:
        return ()
    length = sum(recording.windows[i].length_us for i in range(steady.first, steady.last + 1))
    working = _Working(recording, threads, times)
    waits = []
    for (number, kind), windows in threads.waited_us.items():
        us = sum(windows.values())
        if us < LEAST_WAIT * length:
            continue
        thread = recording.threads[number]
        nodes = frozenset(threads.wait_nodes[number, kind])
        others = _candidates(thread, kind, nodes, recording, roles)
        on = working.meanwhile(thread, windows, others)
        if kind is WaitKind.UNKNOWN and _waits_for_the_gil(thread, windows, working):
            kind = WaitKind.GIL
            on = ((thread.process, 1.0),)
        waits.append(Wait(number, thread.process, kind, us, nodes, on))
    waits.sort(key=lambda wait: (-wait.wall_us, wait.thread, wait.kind.value))
    return tuple(waits)


class _Working:
    """The work of each thread in each window, polling left out."""

    def __init__(self, recording: Recording, threads: SteadyThreads, times: Times) -> None:
        self._windows = recording.windows
        self._polling = threads.polling_in
        self._times = times
        self._by_process: dict[int, list[Thread]] = defaultdict(list)
        for thread in recording.threads:
            self._by_process[thread.process].append(thread)

    def share(self, thread: int, window: int) -> float:
        """Part of the window in which ``thread`` works."""
        busy = self._times.busy_us[self._times.at(thread, window)]
        busy -= self._polling.get((thread, window), 0)
        return min(1.0, max(0.0, busy / max(1, self._windows[window].length_us)))

    def threads(self, process: int) -> list[Thread]:
        return self._by_process[process]

    def meanwhile(
        self, waiting: Thread, windows: Mapping[int, int], others: list[int]
    ) -> tuple[tuple[int, float], ...]:
        """Part of the wait in which each of ``others`` worked."""
        total = sum(windows.values())
        parts = []
        for process in others:
            mates = [thread for thread in self.threads(process) if thread.id != waiting.id]
            worked = sum(
                us * max((self.share(mate.id, window) for mate in mates), default=0.0)
                for window, us in windows.items()
            )
            if worked >= LEAST_WAIT * total:
                parts.append((process, worked / total))
        return tuple(sorted(parts, key=lambda part: (-part[1], part[0])))


def _candidates(
    thread: Thread,
    kind: WaitKind,
    nodes: frozenset[int],
    recording: Recording,
    roles: Mapping[int, str],
) -> list[int]:
    """Processes that could end the wait: relatives, by what it waits in."""
    if kind in (WaitKind.SLEEP, WaitKind.UNKNOWN, WaitKind.OWN_EVENTS):
        return []
    own = thread.process
    # An executor's result is awaited by a condition of threads, whoever works it out.
    if kind is not WaitKind.FUTURE and all(_is_within_process(recording, node) for node in nodes):
        return [own]
    parents = logical_parents(recording.processes, roles)
    children = [child for child, parent in parents.items() if parent == own]
    if kind is WaitKind.FUTURE and not children:
        return [own]
    if kind in _FROM_PARENT_TO_CHILDREN:
        related = children
    else:
        above = parents.get(own)
        siblings = [
            sibling for sibling, parent in parents.items() if above is not None and parent == above
        ]
        related = children + ([above] if above is not None else [])
        # Pipes join parents and children; queues, events and locks are shared by all.
        if kind is not WaitKind.PIPE or not related:
            related += siblings
    others = [
        key for key in dict.fromkeys(related) if key != own and roles.get(key) not in SERVICES
    ]
    # A loop that asks may ask for what another thread of its process has done, too.
    return [*others, own] if kind is WaitKind.POLL else others


def logical_parents(processes: Sequence[Process], roles: Mapping[int, str]) -> dict[int, int]:
    """The process id of each one's parent; that of a fork server's child is the server's parent."""
    by_pid = {process.pid: process for process in processes}
    parents = {}
    for process in processes:
        parent = by_pid.get(process.ppid)
        if parent is not None and roles.get(parent.id) in SERVICES:
            parent = by_pid.get(parent.ppid)
        if parent is not None and parent.id != process.id:
            parents[process.id] = parent.id
    return parents


def _is_within_process(recording: Recording, node: int) -> bool:
    """Tell whether the standard library's part of the stack above ``node`` knows threads only."""
    files: list[str] = []
    current = node
    while current != NO_PARENT and len(files) < 4:
        files.append(_path(recording.nodes[current].frame))
        current = recording.nodes[current].parent
    return any(part in files[0] for part in _WITHIN_PROCESS) and not any(
        "/multiprocessing/" in file for file in files
    )


def _path(frame: Frame) -> str:
    return frame.file.replace("\\", "/")


def _waits_for_the_gil(thread: Thread, windows: Mapping[int, int], working: _Working) -> bool:
    """Tell whether other Python threads of the process worked for most of a wait that says nothing."""
    mates = [mate for mate in working.threads(thread.process) if mate.id != thread.id]
    total = sum(windows.values())
    worked = sum(
        us * min(1.0, sum(working.share(mate.id, window) for mate in mates))
        for window, us in windows.items()
    )
    return bool(mates) and worked >= 0.5 * total
