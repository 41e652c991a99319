"""Replay a real recording on a fake clock: as long and as wide as asked, without the waiting.

The windows go through the recorder's own ``WindowStore``, so that they are closed, merged and
written as in a real run of that length. The first windows are those of the recording. Later ones
draw their ticks from where its second half spent its time, as sampling does: a longer window
meets more of the rare stacks. Stacks that the recording never met do not come up.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from rlprof.model.recording import Frame, Node, Process, Recording, Thread, ThreadClock
from rlprof.recording.census import Census
from rlprof.recording.combine import NodeTime
from rlprof.recording.guard import PartGuard
from rlprof.recording.machine import procfs
from rlprof.recording.stacks import StackTable
from rlprof.recording.storing import WindowStore
from rlprof.recording.timeline import window_length_us
from rlprof.recording.tracked import ProcessWindow, TrackedProcess
from rlprof.runfile.writer import RunWriter

TICK_US = 10_000
"""The default rate of both instruments."""


@dataclass(frozen=True, slots=True)
class ReplayCost:
    """What it took to write the file."""

    file_bytes: int
    sample_rows: int
    cpu_s: float
    """CPU time of storing and drawing."""
    longest_window_s: float
    """Longest time that closing one window took, merging included."""


@dataclass(frozen=True)
class ThreadStory:
    """How one recorded thread spent its time."""

    thread: Thread
    nodes: Any
    shares: Any
    """Of its wall time in the second half, by node."""
    idle: Any
    """The part of each node's time that is idle."""
    cpu: Any
    """The part of each node's busy time that was on a CPU."""
    windows: tuple[tuple[tuple[int, NodeTime], ...], ...]
    """What was recorded, by window: (node, time)."""


@dataclass(frozen=True)
class ProcessStory:
    process: Process
    threads: tuple[ThreadStory, ...]
    steps: tuple[float, ...]
    """By recorded window."""
    steps_per_us: float
    """In the second half."""


def read_stories(recording: Recording, stacks: StackTable) -> list[ProcessStory]:
    """One story for each sampled process; its nodes are put into ``stacks``."""
    half_us = recording.run.wall_us / 2
    second_half = [window.id for window in recording.windows if window.start_us >= half_us]
    node_ids = _copy_nodes(recording.nodes, stacks)
    rows: dict[int, list[tuple[int, int, NodeTime]]] = defaultdict(list)
    for window, thread, node, wall, idle, cpu in recording.samples.rows():
        rows[thread].append((window, node_ids[node], NodeTime(wall, idle, cpu)))
    stories = []
    for process in recording.processes:
        threads = tuple(
            _thread_story(thread, rows[thread.id], len(recording.windows), set(second_half))
            for thread in recording.threads
            if thread.process == process.id and rows[thread.id]
        )
        if threads:
            stories.append(_process_story(recording, process, threads, second_half))
    return stories


def _copy_nodes(nodes: tuple[Node, ...], stacks: StackTable) -> list[int]:
    paths: list[tuple[Frame, ...]] = []
    for _, parent, frame in nodes:
        paths.append((*(paths[parent] if parent >= 0 else ()), frame))
    return [stacks.node(path) for path in paths]


def _thread_story(
    thread: Thread,
    rows: list[tuple[int, int, NodeTime]],
    window_count: int,
    second_half: set[int],
) -> ThreadStory:
    windows: list[list[tuple[int, NodeTime]]] = [[] for _ in range(window_count)]
    totals: dict[int, list[int]] = {}
    for window, node, spent in rows:
        windows[window].append((node, spent))
        if window in second_half:
            total = totals.setdefault(node, [0, 0, 0])
            for column, value in enumerate(spent):
                total[column] += value
    nodes = np.array(list(totals), dtype=np.int64)
    wall, idle, cpu = np.array(list(totals.values()) or [[0, 0, 0]], dtype=float).T
    busy = np.maximum(wall - idle, 1.0)
    return ThreadStory(
        thread,
        nodes,
        wall / max(1.0, wall.sum()),
        idle / np.maximum(wall, 1.0),
        np.minimum(cpu / busy, 1.0),
        tuple(map(tuple, windows)),
    )


def _process_story(
    recording: Recording,
    process: Process,
    threads: tuple[ThreadStory, ...],
    second_half: list[int],
) -> ProcessStory:
    steps = [0.0] * len(recording.windows)
    for counter in recording.counters:
        if counter.process == process.id and counter.name == "steps":
            steps[counter.window] += counter.value
    length_us = sum(recording.windows[window].length_us for window in second_half)
    rate = sum(steps[window] for window in second_half) / max(1, length_us)
    return ProcessStory(process, threads, tuple(steps), rate)


class ReplayedProcess(TrackedProcess):
    """A process that is not there: its windows come from a story."""

    def __init__(
        self,
        story: ProcessStory,
        number: int,
        census: Census,
        stacks: StackTable,
        random: Any,
        numbers: Iterator[int],
    ) -> None:
        """``numbers`` are those of the threads of all processes."""
        self._story = story
        self._random = random
        self._windows_closed = 0
        self._numbers: list[int] = []

        def new_thread(process: int, tid: int, name: str, is_main: bool) -> Thread:
            thread = Thread(next(numbers), process, tid, name, is_main)
            census.new_threads.append(thread)
            return thread

        # Past the kernel's largest pid: none of the machine's own processes is meant.
        pid = 4_200_000 + number
        process = replace(story.process, id=number, pid=pid, ended_us=None, fate="sampled")
        # Those of the pid below, whose gauges are read.
        ours = procfs.read_stat(os.getpid())
        super().__init__(
            process,
            start_ticks=0 if ours is None else ours.start_ticks,
            mailbox=None,
            stacks=stacks,
            new_thread=_no_thread_yet,
        )
        for thread_number, thread in enumerate(story.threads):
            told = thread.thread
            made = new_thread(number, pid + 1000 * thread_number, told.name, told.is_main)
            self._numbers.append(made.id)

    @property
    def pid(self) -> int:
        """Ours, so that there are gauges to read."""
        return os.getpid()

    def close_window(self, now_us: int, length_us: int) -> ProcessWindow:  # noqa: ARG002 - no clock to ask
        story, index = self._story, self._windows_closed
        self._windows_closed += 1
        result = ProcessWindow()
        for number, thread in zip(self._numbers, story.threads, strict=True):
            if index < len(thread.windows):
                times = list(thread.windows[index])
            else:
                times = self._draw(thread, length_us)
            if not times:
                continue
            result.samples += [(number, node, spent) for node, spent in times]
            result.clocks.append(_clock(number, [spent for _, spent in times]))
            self.clock_samples += length_us // TICK_US
        if index < len(story.steps):
            steps = round(story.steps[index])
        else:
            steps = round(story.steps_per_us * length_us * self._random.normal(1.0, 0.03))
        result.counts["steps"] = steps
        return result

    def _draw(self, thread: ThreadStory, length_us: int) -> list[tuple[int, NodeTime]]:
        if not len(thread.nodes):
            return []
        ticks = max(1, length_us // TICK_US)
        counts = self._random.multinomial(ticks, thread.shares)
        times = []
        for at in counts.nonzero()[0]:
            wall = int(counts[at]) * length_us // ticks
            idle = int(wall * thread.idle[at])
            cpu = int((wall - idle) * thread.cpu[at])
            times.append((int(thread.nodes[at]), NodeTime(wall, idle, cpu)))
        return times


def _no_thread_yet(process: int, tid: int, name: str, is_main: bool) -> Thread:
    """The main thread that every tracked process makes; the story's own take its place."""
    return Thread(-1, process, tid, name, is_main)


def _clock(thread: int, times: list[NodeTime]) -> ThreadClock:
    wall = sum(spent.wall_us for spent in times)
    idle = sum(spent.idle_us for spent in times)
    cpu = sum(spent.cpu_us for spent in times)
    return ThreadClock(0, thread, wall, idle, 0, cpu, wall - idle - cpu)


def replay(recording: Recording, path: Path, *, hours: float, processes: int) -> ReplayCost:
    """Write the run file of ``processes`` that went on like ``recording`` for ``hours``.

    Its first process stays the first; the others are played again and again by as many as wanted.
    """
    path.unlink(missing_ok=True)
    stacks = StackTable()
    census = Census(stacks, lambda: 0, expects_agents=False)
    random = np.random.default_rng(0)
    main, *workers = read_stories(recording, stacks)
    cast = [main, *islice(cycle(workers or [main]), processes - 1)]
    numbers = count()
    census.present += [
        ReplayedProcess(story, number, census, stacks, random, numbers)
        for number, story in enumerate(cast)
    ]
    store = WindowStore(RunWriter(path, replace(recording.run, complete=False)), stacks)
    guard = PartGuard()
    longest_s = 0.0
    cpu = time.process_time()
    for end_us in _window_ends(round(hours * 3600e6)):
        started = time.perf_counter()
        store.close_window(end_us, census, (), guard)
        longest_s = max(longest_s, time.perf_counter() - started)
    store.finish(exit_code=0, census=census, overhead=recording.overhead, notes=recording.notes)
    if store.failure is not None:
        raise store.failure
    cpu_s = time.process_time() - cpu
    return ReplayCost(path.stat().st_size, _sample_rows(path), cpu_s, longest_s)


def _window_ends(total_us: int) -> list[int]:
    ends = [0]
    while ends[-1] < total_us:
        ends.append(min(total_us, ends[-1] + window_length_us(ends[-1])))
    return ends[1:]


def _sample_rows(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        (rows,) = db.execute("SELECT COUNT(*) FROM sample").fetchone()
    return int(rows)
