"""From the sums of a foreign profile to a recording: imports first, then all the rest."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.foreign.base import damaged
from rlprof.foreign.sums import StackSums
from rlprof.model.calltree import with_callees
from rlprof.model.recording import (
    NO_PARENT,
    TORN_FRAME,
    Frame,
    MemoryGrowth,
    Note,
    Process,
    Recording,
    RunInfo,
    Samples,
    Thread,
    ThreadClock,
    Window,
)
from rlprof.pace.times import importing_nodes
from rlprof.recording.sources import read_sources
from rlprof.runfile.integrity import MOST_US
from rlprof.syntax.origin import Origin, origin_of_file

_HIGHEST_ID: Final = (1 << 64) - 1

_POOL_FILES: Final = (
    ("/multiprocessing/forkserver.py", "forkserver"),
    ("/multiprocessing/spawn.py", "spawn"),
    ("/multiprocessing/popen_fork.py", "fork"),
)
"""Files of ``multiprocessing`` that stand above a worker's own code, and how it was started then."""

_POOL_PROCESS: Final = "/multiprocessing/process.py"
_BOOTSTRAP: Final = re.compile(r"(.*\.)?_bootstrap")
_PYTHON_VERSION: Final = re.compile(r"/lib(?:64)?/python(3\.[1-9]\d*)t?/")


@dataclass(frozen=True, slots=True)
class ProfileFacts:
    """Facts that a profile tells of itself, beside its stacks."""

    interval_us: int = 0
    """Between samples; 0 when it is not known."""
    wall_us: int = 0
    """Its length; 0 when it is not told."""
    has_whole_stacks: bool = False
    """True if the sampler stopped the program while it looked, so that no stack is torn."""
    notes: tuple[Note, ...] = ()


def recording_of(sums: StackSums, path: Path, told: ProfileFacts) -> Recording:
    """None of the formats has a time axis. What is known without one is that imports come first: they
    have a window of their own, or they would outweigh the training in a short profile. ``path`` is the
    profile's file.

    Raises :class:`RunFileError` for numbers that no program's profile has.
    """
    _check_numbers(sums, path)
    thread_us = _thread_times(sums)
    mains = _main_threads(sums, thread_us)
    wall_us = max(told.wall_us, max(thread_us.values(), default=0))
    sources, source_notes = sources_here(sums, path)
    windows, rows = _placed(sums, wall_us)
    return Recording(
        run=_run(sums, path, wall_us),
        processes=tuple(_processes(sums, told, {number: thread_us[number] for number in mains})),
        threads=tuple(_threads(sums, mains)),
        nodes=tuple(sums.nodes),
        windows=windows,
        samples=_samples(rows),
        clocks=tuple(_clocks(rows, sums)),
        memory=tuple(_memory(sums)),
        sources=sources,
        notes=(*told.notes, *source_notes),
    )


def begins_a_thread(frame: Frame) -> bool:
    """Tell whether an outermost frame is that of a thread which ``threading`` started."""
    return frame.file.endswith("threading.py") and _BOOTSTRAP.fullmatch(frame.function) is not None


def _run(sums: StackSums, path: Path, wall_us: int) -> RunInfo:
    command = sums.processes[0].argv or (path.name,)
    digest = hashlib.sha256(f"{path.name} {sums.total_us}".encode("utf-8", "replace"))
    return RunInfo(
        id=digest.hexdigest()[:16],
        command=command,
        script=path.name,
        cwd=_cwd(sums),
        # The file was closed when the program ended, or a little later.
        started_unix_s=max(0.0, path.stat().st_mtime - wall_us / 1e6),
        wall_us=wall_us,
        exit_code=None,
        complete=True,
    )


def _check_numbers(sums: StackSums, path: Path) -> None:
    """Each may be read well, and all of them come to more than a recording keeps: counts may stand for what takes no time, such as cycles of a CPU."""
    if sums.total_us > MOST_US or any(
        min(time.busy_us, time.idle_us) < 0 for time in sums.times.values()
    ):
        raise damaged(path, "its times are negative, or add up to thousands of years")
    ids = chain(
        (process.pid for process in sums.processes), (thread.tid for thread in sums.threads)
    )
    if any(abs(number) > _HIGHEST_ID for number in ids):
        raise damaged(path, "the id of a process or thread has more than 64 bits")


def _cwd(sums: StackSums) -> str:
    """The folder rlprof runs in, if some of the user's files lie in it."""
    here = str(Path.cwd())
    mine = (file for file in sums.files() if origin_of_file(file) is Origin.YOURS)
    return here if any(file.startswith(f"{here}/") for file in mine) else ""


def _thread_times(sums: StackSums) -> Mapping[int, int]:
    times: dict[int, int] = defaultdict(int)
    for (thread, _), time in sums.times.items():
        times[thread] += time.wall_us
    return times


def _main_threads(sums: StackSums, thread_us: Mapping[int, int]) -> frozenset[int]:
    """One of each process: told by its id or name, else the longest that ``threading`` did not start."""
    started = _started_threads(sums)
    best: dict[int, tuple[tuple[bool, bool, int], int]] = {}
    for number, thread in enumerate(sums.threads):
        is_told = thread.name == "MainThread" or thread.tid == sums.processes[thread.process].pid
        rank = (is_told, number not in started, thread_us.get(number, 0))
        if thread.process not in best or rank > best[thread.process][0]:
            best[thread.process] = rank, number
    return frozenset(number for _, number in best.values())


def _started_threads(sums: StackSums) -> set[int]:
    """Threads that have a stack which begins in ``threading``."""
    begins: list[bool] = []
    for _, parent, frame in sums.nodes:
        begins.append(begins_a_thread(frame) if parent == NO_PARENT else begins[parent])
    return {thread for thread, node in sums.times if begins[node]}


def _threads(sums: StackSums, mains: Collection[int]) -> Iterator[Thread]:
    for number, thread in enumerate(sums.threads):
        is_main = number in mains
        name = thread.name or ("MainThread" if is_main else f"thread {thread.tid}")
        yield Thread(number, thread.process, thread.tid, name, is_main)


def _processes(
    sums: StackSums, told: ProfileFacts, main_us: Mapping[int, int]
) -> Iterator[Process]:
    """``main_us``: time of each main thread, by its number."""
    methods = _start_methods(sums)
    version = _python_version(sums)
    covered = {sums.threads[number].process: us for number, us in main_us.items()}
    torn = _torn_times(sums)
    for number, process in enumerate(sums.processes):
        yield Process(
            id=number,
            pid=process.pid,
            ppid=process.ppid,
            argv=process.argv,
            executable="",
            python=version,
            start_method=methods.get(number, "root" if number == 0 else process.start_method),
            started_us=0,
            # How long it lived is not told, only for how long it was looked at.
            ended_us=covered.get(number, 0),
            exit_code=None,
            fate="sampled",
            requested_interval_us=told.interval_us,
            clock_samples=process.ticks,
            clock_invalid_us=torn.get(number, 0),
            clock_covered_us=covered.get(number, 0),
            # Such stacks are as good as the probe's.
            probe_samples=process.ticks if told.has_whole_stacks else 0,
        )


def _start_methods(sums: StackSums) -> dict[int, str]:
    """Return how ``multiprocessing`` started a process, where its stacks tell."""
    methods: list[str] = []
    is_pooled: list[bool] = []
    for _, parent, frame in sums.nodes:
        above, pooled = ("", False) if parent == NO_PARENT else (methods[parent], is_pooled[parent])
        methods.append(next((how for end, how in _POOL_FILES if frame.file.endswith(end)), above))
        is_pooled.append(
            pooled
            or (
                frame.file.endswith(_POOL_PROCESS)
                and _BOOTSTRAP.fullmatch(frame.function) is not None
            )
        )
    return {
        sums.threads[thread].process: methods[node] or "fork"
        for thread, node in sums.times
        if is_pooled[node]
    }


def _python_version(sums: StackSums) -> str:
    """By the folder of the standard library; empty when there is none, or several."""
    found = {version[1] for file in sums.files() if (version := _PYTHON_VERSION.search(file))}
    return found.pop() if len(found) == 1 else ""


def _torn_times(sums: StackSums) -> Mapping[int, int]:
    torn: dict[int, int] = defaultdict(int)
    for (thread, node), time in sums.times.items():
        if sums.nodes[node].frame == TORN_FRAME:
            torn[sums.threads[thread].process] += time.busy_us
    return torn


class _WindowTime(NamedTuple):
    """Time of one stack in one window (µs)."""

    window: int
    thread: int
    node: int
    busy_us: int
    idle_us: int


def _placed(sums: StackSums, wall_us: int) -> tuple[tuple[Window, ...], list[_WindowTime]]:
    """Imports in the first window, the rest in the second, which is as long as is left of the run.

    A thread that has more of the rest than that was there from the start: a part of each of its stacks
    goes into the first window.
    """
    importing = importing_nodes(sums.nodes)
    imports, rest = [0] * len(sums.threads), [0] * len(sums.threads)
    for (thread, node), time in sums.times.items():
        (imports if importing[node] else rest)[thread] += time.wall_us
    first_us = max(imports, default=0)
    if not 0 < first_us < wall_us:
        whole = [
            _WindowTime(0, thread, node, time.busy_us, time.idle_us)
            for (thread, node), time in sorted(sums.times.items(), key=lambda item: item[0])
        ]
        return (Window(0, 0, wall_us),) if wall_us else (), whole
    early = [max(0.0, 1 - (wall_us - first_us) / us) if us else 0.0 for us in rest]
    rows = []
    for (thread, node), time in sums.times.items():
        part = 1.0 if importing[node] else early[thread]
        busy, idle = round(time.busy_us * part), round(time.idle_us * part)
        rows.append(_WindowTime(0, thread, node, busy, idle))
        rows.append(_WindowTime(1, thread, node, time.busy_us - busy, time.idle_us - idle))
    windows = (Window(0, 0, first_us), Window(1, first_us, wall_us))
    return windows, sorted(row for row in rows if row.busy_us or row.idle_us)


def _samples(rows: Iterable[_WindowTime]) -> Samples:
    samples = Samples()
    for row in rows:
        # On a CPU or waiting for one: nobody asked the scheduler.
        samples.add(
            row.window, row.thread, row.node, row.busy_us + row.idle_us, row.idle_us, row.busy_us
        )
    return samples


def _clocks(rows: Iterable[_WindowTime], sums: StackSums) -> Iterator[ThreadClock]:
    found: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        clock = found[row.window, row.thread]
        clock[0] += row.busy_us + row.idle_us
        clock[1] += row.idle_us
        if sums.nodes[row.node].frame == TORN_FRAME:
            clock[2] += row.busy_us
    for (window, thread), (wall, idle, torn) in sorted(found.items()):
        if wall:
            # Without time on a CPU: on how many of how many cores is not told.
            yield ThreadClock(window, thread, wall, idle, torn, on_cpu_us=0, run_queue_us=0)


def _memory(sums: StackSums) -> Iterator[MemoryGrowth]:
    for (thread, node), time in sorted(sums.times.items(), key=lambda item: item[0]):
        if time.grown_bytes or time.released_bytes:
            yield MemoryGrowth(thread, node, time.grown_bytes, time.released_bytes)


# --- source of its files, as they are on this machine ---------------------------------------


def sources_here(sums: StackSums, profile: Path) -> tuple[Mapping[str, str], tuple[Note, ...]]:
    """The text of the hot files that did not change since ``profile`` was written, and remarks on it."""
    written = profile.stat().st_mtime
    costs = [
        (file, us)
        for file, us in _file_costs(sums)
        # Nothing but Python: a profile may come from anybody, and name any file of yours.
        if file.endswith(".py") and file.startswith("/")
    ]
    as_recorded = [(file, us) for file, us in costs if not _is_newer(file, written)]
    changed = {file for file, _ in costs} - {file for file, _ in as_recorded}
    sources = read_sources(as_recorded, sums.total_us)
    mine = sorted(file for file in changed if origin_of_file(file) is Origin.YOURS)
    return sources, tuple(_notes(sources, mine))


def _file_costs(sums: StackSums) -> list[tuple[str, int]]:
    """(file, time in it or below), the dearest first."""
    own = [0] * len(sums.nodes)
    for (_, node), time in sums.times.items():
        own[node] += time.wall_us
    total = with_callees(sums.nodes, own)
    costs: dict[str, int] = defaultdict(int)
    for node, parent, frame in sums.nodes:
        # Calls within a file are in the outer call's time already.
        if frame.file and (parent == NO_PARENT or sums.nodes[parent].frame.file != frame.file):
            costs[frame.file] += total[node]
    return sorted(costs.items(), key=lambda item: (-item[1], item[0]))


def _is_newer(file: str, written: float) -> bool:
    try:
        return Path(file).stat().st_mtime > written
    except (OSError, ValueError):
        return False


def _notes(sources: Mapping[str, str], changed: Sequence[str]) -> Iterator[Note]:
    if any(origin_of_file(file) is Origin.YOURS for file in sources):
        yield Note(
            "info",
            "foreign-source",
            "Source lines are those of the files on this machine: the profile itself has none.",
        )
    if changed:
        yield Note(
            "warning",
            "foreign-source-changed",
            f"{len(changed)} of your files changed after the profile was written ({changed[0]}"
            f"{' and others' if len(changed) > 1 else ''}): their lines are not shown, and causes that "
            "only the source tells are not found.",
        )
