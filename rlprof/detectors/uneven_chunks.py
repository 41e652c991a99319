"""Tasks of a pool that are handed out in large chunks, of which one lasts longer than the others."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.model.activity import FOR_OTHERS, Activity, WaitKind
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.source.lines import Line, UserLines, heaviest_line, short_place
from rlprof.syntax.module import SourceModule, called_name
from rlprof.units import count, percent

MIN_SHARE: Final = 0.15
"""Least part of the wait that goes: on two cores that others use as well, a healthy pool was idle for a tenth of it."""

LEAST_STEADY_US: Final = 2_000_000
"""Least length of the steady phase: in a shorter one workers are idle since they begin and end at different times."""

WAKE_UPS: Final = calibrated(
    2.0,
    unit="times the CPU time of the pool's own threads",
    source="a pool of two workers that get two even chunks a round, 0.2 to 18 ms each: they wait for 0.5 to 1.9 times as long as these threads work",
    date="2026-11-27",
)
"""Time that workers wait until a chunk has reached them and its results are back, over the CPU time of the threads that hand both on."""

LEAST_GAINED: Final = 0.4
"""Part of the idle time that goes at least: the last task is waited for in any case."""

_MAPS: Final = frozenset({"map", "starmap", "imap", "imap_unordered", "map_async", "starmap_async"})
_CHUNKS: Final = "chunksize"
_WORKERS: Final = (
    ("multiprocessing/pool.py", "worker"),
    ("concurrent/futures/process.py", "_process_worker"),
)
"""Functions that a pool's processes spend their lives in."""


class _Rounds(NamedTuple):
    """Waits of one thread until a pool has done all of its tasks."""

    asker: Activity
    weights: dict[Line, float]
    """Time asleep (µs) by line."""
    nodes: frozenset[int]
    chunks: str
    """Tasks in a chunk, as written."""

    @property
    def waited_us(self) -> float:
        return sum(self.weights.values())


def detect(profile: Profile) -> Iterable[Finding]:
    # Where no core is free, the others could not work either.
    if profile.load.saturated or profile.steady_us < LEAST_STEADY_US:
        return
    lines = UserLines.of(profile)
    for rounds in _found(profile, lines):
        workers = [
            worker
            for worker in profile.activities
            if worker.process != rounds.asker.process and _is_of_pool(worker)
        ]
        idle = _idle_part(profile, rounds, workers)
        savings = _savings(profile, rounds, workers, idle) if idle >= MIN_SHARE else ()
        if savings:
            yield _finding(lines, rounds, savings, len(workers), idle)


def _finding(
    lines: UserLines, rounds: _Rounds, savings: tuple[Saving, ...], workers: int, idle: float
) -> Finding:
    whole = rounds.asker.wall_us
    place = short_place(heaviest_line(rounds.weights))
    return Finding(
        title=f"chunks of a pool's tasks end at different times ({place})",
        savings=savings,
        locations=lines.shown_locations(rounds.weights, whole),
        evidence=(
            f"{percent(rounds.waited_us / whole)} of the time is spent waiting there until all are done",
            f"meanwhile {count(workers)} workers have nothing to do for {percent(idle)} of the time, on average",
            f"each takes {rounds.chunks} tasks at once",
        ),
        fix="Hand tasks out one by one (chunksize=1), the longest first: who is done early takes the next.",
        confidence=Confidence.BOUNDED,
    )


def _idle_part(profile: Profile, rounds: _Rounds, workers: Sequence[Activity]) -> float:
    """Return the part of the waits that even chunks would save; 0 where there is one worker."""
    if len(workers) < 2 or not rounds.waited_us:
        return 0.0
    even_us = sum(_work_us(profile, worker) for worker in workers) / len(workers)
    handing_us = sum(
        thread.on_cpu_us
        for thread in profile.activities
        if thread.process == rounds.asker.process and not thread.is_main
    )
    return 1 - (even_us + WAKE_UPS * handing_us) / rounds.waited_us


def _found(profile: Profile, lines: UserLines) -> Iterator[_Rounds]:
    """Yield who waits, by the threads' own time: in the steady phase the work of those that they wait for has taken the waits' place."""
    for asker in profile.activities:
        weights: dict[Line, float] = {}
        nodes: set[int] = set()
        chunks = ""
        for node, cost in asker.tree.self_costs() if asker.is_main else ():
            if profile.wait_kinds.get(node) is not WaitKind.FUTURE:
                continue
            owner = lines.owner(node)
            frame = profile.steady.frame(owner) if owner != NO_PARENT else None
            module = lines.module(frame.file) if frame is not None else None
            found = _chunks(module, frame.line) if module is not None and frame is not None else ""
            if found:
                chunks = found
                place = lines.line(owner)
                weights[place] = weights.get(place, 0.0) + cost.idle_us
                nodes.add(node)
        if nodes:
            yield _Rounds(asker, weights, frozenset(nodes), chunks)


def _chunks(module: SourceModule, line: int) -> str:
    """Return how many tasks the function around ``line`` gives a worker at once, as written; empty for one, or where it does not say."""
    for statement in module.of_function(module.function_at(line)):
        for node in statement.calls():
            if called_name(node) in _MAPS:
                for word in node.keywords:
                    if word.arg == _CHUNKS and not (
                        isinstance(word.value, ast.Constant) and word.value.value in (1, None)
                    ):
                        return ast.unparse(word.value)
    return ""


def _is_of_pool(worker: Activity) -> bool:
    """Tell whether it is the main thread of a pool's worker that has worked."""
    if not worker.is_main:
        return False
    tree = worker.tree
    frames = (tree.frame(node) for node in tree.hot_nodes())
    return any(
        frame.function == function and frame.file.endswith(file)
        for frame in frames
        for file, function in _WORKERS
    )


def _work_us(profile: Profile, worker: Activity) -> float:
    """Time in which it does not wait for others."""
    waits = (
        wait.wall_us
        for wait in profile.waits
        if wait.thread == worker.thread and wait.kind in FOR_OTHERS
    )
    return max(0.0, worker.wall_us - sum(waits))


def _savings(
    profile: Profile, rounds: _Rounds, workers: Sequence[Activity], idle: float
) -> tuple[Saving, ...]:
    """The wait for the last chunk, of who asks, or of the workers, where these make the steps; then the work of the slowest, where that fills
    the wait.
    """
    if rounds.asker.is_critical:
        waits, wanted_us = rounds.nodes, idle * rounds.waited_us
    else:
        critical = [worker for worker in workers if worker.is_critical]
        threads = {worker.thread for worker in critical}
        waits = frozenset(
            node
            for wait in profile.waits
            if wait.thread in threads and wait.kind in FOR_OTHERS
            for node in wait.nodes
        )
        wanted_us = idle * rounds.waited_us * len(critical)
    work = frozenset(node for worker in workers for node in worker.tree.hot_nodes()) - waits
    savings = []
    for nodes in (waits, work):
        own_us = profile.steady.cost_of(nodes).wall_us
        sold_us = min(wanted_us, own_us)
        if sold_us > 0:
            part = sold_us / own_us
            savings.append(Saving(nodes, Range(LEAST_GAINED * part, part)))
            wanted_us -= sold_us
    return tuple(savings)


DETECTOR: Final = Detector(
    id="uneven-chunks",
    name="tasks of a pool in chunks that end at different times",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
