"""A recording in which the work of a library's native threads stands at the calls that wait for it.

Torch runs the backward pass of tensors on a GPU in a thread of its own per device; the thread that called ``backward``
sleeps meanwhile. That thread runs C++ and no Python, so its stack is never one. Seen as a Python thread it would
look like one that takes turns with the other at the interpreter lock, and the caller like one that waits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from rlprof.libraries.base import Duty
from rlprof.libraries.questions import duty_of
from rlprof.model.recording import UNLOCATED, Recording, Samples
from rlprof.source.wait_kinds import classify_waits
from rlprof.syntax.origin import Origin, origin_of_file

LEAST_SEEN_US: Final = 500_000
"""Time of a thread from which on it is known to have no Python stack: one look at a torn one tells nothing."""


class _GivenWork(NamedTuple):
    """Work of native threads, or the part of it that a row is given (µs)."""

    busy_us: int = 0
    cpu_us: int = 0

    def plus(self, busy_us: int, cpu_us: int) -> _GivenWork:
        return _GivenWork(self.busy_us + busy_us, self.cpu_us + cpu_us)


def with_called_work(recording: Recording) -> Recording:
    """``recording`` without native threads; what they worked is work of the library calls that slept meanwhile.

    A call that is known to wait for something else is given nothing. Work beside which nobody slept is native work like that of
    threads the sampler never sees.
    """
    native = frozenset(_native_threads(recording))
    if not native:
        return recording
    given = _given(recording, native)
    samples = Samples()
    of_thread: dict[tuple[int, int], _GivenWork] = defaultdict(_GivenWork)
    for at, (window, thread, node, wall, idle, cpu) in enumerate(recording.samples.rows()):
        if thread in native:
            continue
        work = given.get(at, _GivenWork())
        samples.add(window, thread, node, wall, idle - work.busy_us, cpu + work.cpu_us)
        of_thread[window, thread] = of_thread[window, thread].plus(*work)
    return replace(
        recording,
        samples=samples,
        clocks=tuple(
            clock._replace(
                idle_us=clock.idle_us - of_thread[clock.window, clock.thread].busy_us,
                on_cpu_us=clock.on_cpu_us + of_thread[clock.window, clock.thread].cpu_us,
            )
            for clock in recording.clocks
            if clock.thread not in native
        ),
    )


def _native_threads(recording: Recording) -> Iterator[int]:
    """Threads that never had a Python stack, of processes whose stacks could be read."""
    seen: dict[int, int] = defaultdict(int)
    with_stack: set[int] = set()
    is_unlocated = [node.frame.function in UNLOCATED for node in recording.nodes]
    columns = recording.samples.thread, recording.samples.node, recording.samples.wall_us
    for thread, node, wall in zip(*columns, strict=True):
        seen[thread] += wall
        if not is_unlocated[node]:
            with_stack.add(thread)
    readable = {
        recording.threads[located].process
        for located in with_stack
        if recording.threads[located].is_main
    }
    for thread in sorted(seen.keys() - with_stack):
        if seen[thread] < LEAST_SEEN_US:
            continue
        if not recording.threads[thread].is_main and recording.threads[thread].process in readable:
            yield thread


def _given(recording: Recording, native: frozenset[int]) -> dict[int, _GivenWork]:
    """Return the work that each row is given, by its index."""
    worked: dict[tuple[int, int], _GivenWork] = defaultdict(_GivenWork)
    sleepers: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    in_engine: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    processes = {recording.threads[thread].process for thread in native}
    of_library = _in_a_library(recording)
    of_engine = [duty_of(node.frame) is Duty.COMPUTES_GRADIENTS for node in recording.nodes]
    working = _working(recording)
    for at, (window, thread, node, wall, idle, cpu) in enumerate(recording.samples.rows()):
        where = (window, recording.threads[thread].process)
        if thread in native:
            worked[where] = worked[where].plus(wall - idle, cpu)
        elif idle and where[1] in processes and of_engine[node]:
            in_engine[where].append((at, idle))
        # A thread that only sleeps waits for something outside: a server, a queue of a library's.
        elif idle and where[1] in processes and of_library[node] and (window, thread) in working:
            sleepers[where].append((at, idle))
    given = {}
    for where, work in worked.items():
        rows = in_engine[where] or sleepers[where]
        slept = sum(idle for _, idle in rows)
        if not slept or not work.busy_us:
            continue
        part = min(1.0, work.busy_us / slept)
        on_cpu = min(1.0, work.cpu_us / work.busy_us)
        for at, idle in rows:
            busy = int(part * idle)
            given[at] = _GivenWork(busy, int(on_cpu * busy))
    return given


def _working(recording: Recording) -> set[tuple[int, int]]:
    """(window, thread) of those that do something themselves."""
    return {
        (window, thread)
        for window, thread, _, wall, idle, _ in recording.samples.rows()
        if wall > idle
    }


def _in_a_library(recording: Recording) -> Sequence[bool]:
    """True for each node at a library's own line that does not say what it waits for."""
    known = classify_waits(recording.nodes, recording.sources)
    return [
        node.id not in known
        and bool(node.frame.file)
        and origin_of_file(node.frame.file) is Origin.LIBRARY
        for node in recording.nodes
    ]
