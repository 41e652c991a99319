"""Several Python threads of one process, of which the interpreter lock lets one run at a time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.processes.lock_pollers import WITHOUT_HAND_OVER, polls_awake
from rlprof.detectors.recognisers.processes.transport import serves_queues
from rlprof.model.activity import Activity, WaitKind
from rlprof.model.finding import Confidence, Finding, Range, Remainder
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.source.lines import Line, UserLines, heaviest_line, short_place
from rlprof.units import percent

MIN_WAIT: Final = 0.05
"""Part of the steady phase that the threads of a process together wait for the lock. A helper thread
that wakes up now and then makes the main thread wait for under a percent."""

TAKES_PART: Final = 0.05
"""Part of the steady phase that a thread works for from which on it is one of several."""

REACHED: Final = 0.6
"""Part of the gain of perfect processes that real ones reach at least: what the threads share now has
to be sent."""


_POOL: Final = re.compile(r"[/\\](concurrent[/\\]futures[/\\]|multiprocessing[/\\]pool\.py$)")
"""Code of thread pools, which hands tasks to threads, and takes their results."""

_HANDS_OVER: Final = re.compile(_POOL.pattern + r"|[/\\](threading|queue)\.py$")
"""The same with what it is made of."""


def detect(profile: Profile) -> Iterable[Finding]:
    if not profile.steady_us or profile.load.saturated:
        return
    by_process: dict[int, list[Activity]] = defaultdict(list)
    for activity in profile.activities:
        by_process[activity.process].append(activity)
    waited = _gil_waits_us(profile)
    for process, threads in sorted(by_process.items()):
        yield from _of_pool(profile, threads)
        turn_takers = [
            thread
            for thread in threads
            if thread.working_us >= TAKES_PART * profile.steady_us
            and not _sends_for_others(thread)
            # What it takes of the lock is a finding of its own.
            and not polls_awake(thread, profile)
        ]
        if len(turn_takers) < 2 or waited.get(process, 0) < MIN_WAIT * profile.steady_us:
            continue
        yield from _finding(profile, process, turn_takers, waited[process])


def _sends_for_others(activity: Activity) -> bool:
    """Tell whether it is the thread of a queue, whose work is pickling: a finding of its own."""
    return any(serves_queues(activity.tree.frame(node)) for node in activity.tree.hot_nodes())


def _gil_waits_us(profile: Profile) -> Mapping[int, int]:
    waited: dict[int, int] = defaultdict(int)
    for wait in profile.waits:
        if wait.kind is WaitKind.GIL:
            waited[wait.process] += wait.wall_us
    return waited


def _finding(
    profile: Profile, process: int, turn_takers: Sequence[Activity], waited_us: int
) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    weights: dict[Line, float] = defaultdict(float)
    nodes: set[int] = set()
    for activity in turn_takers:
        for node, cost in activity.tree.self_costs():
            owner = lines.owner(node)
            if owner != NO_PARENT and cost.busy_us:
                nodes.add(node)
                weights[lines.line(owner)] += cost.busy_us
    if not weights:
        return
    sold = profile.steady.cost_of(nodes).busy_us
    # Threads beside the main one have no probe: much of their work is on lines that are not known.
    whole = sum(taker.working_us for taker in turn_takers) / sum(weights.values())
    # What is not on the critical path gains nothing by being quicker.
    critical = min(1.0, sold * max(1.0, whole) / max(1, profile.critical.wall_us))
    side_by_side = max(1.0, min(float(len(turn_takers)), _free_cores(profile, turn_takers)))
    by_cores = 1 - 1 / side_by_side
    # Who hardly waits for the lock is held up by something else: locks, queues, sleep.
    by_lock = waited_us / (waited_us + sum(taker.working_us for taker in turn_takers))
    goes = min(by_cores, by_lock)
    handed_over = (1 - WITHOUT_HAND_OVER) * (goes / by_cores if by_cores else 0.0)
    gain = critical * goes
    most = critical * (1 - (1 - goes) * (1 - handed_over))
    working = sum(taker.working_us for taker in turn_takers) / profile.steady_us
    # Threads do that side by side, and messages to processes may take more than the lock does.
    waits_us = _waits_in_tasks(profile, turn_takers)
    waits = waits_us > sum(taker.on_cpu_us for taker in turn_takers)
    least = 0.0 if waits else REACHED * gain
    yield Finding(
        title=f"{len(turn_takers)} Python threads of one process take turns at the interpreter lock",
        savings=(),
        locations=lines.shown_locations(weights, sum(taker.wall_us for taker in turn_takers)),
        evidence=(
            f"{len(turn_takers)} threads of pid {profile.processes[process].pid} work side by side, together "
            f"for {working:.2f} of one core",
            f"runnable, they wait for each other for {percent(waited_us / len(turn_takers) / profile.steady_us)} "
            f"of the steady phase each; {profile.load.cores:g} cores are there",
            *(
                [
                    "they wait for something else for longer than they have a core, and threads do so side by side"
                ]
                * waits
            ),
        ),
        fix="Run them as processes (multiprocessing, one environment vector each), or vectorise the "
        "work over one thread with numpy or torch, which release the lock while they compute.",
        confidence=Confidence.BOUNDED,
        remainder=Remainder(frozenset(nodes), Range(1 - most, 1 - least)),
    )


def _of_pool(profile: Profile, threads: Sequence[Activity]) -> Iterable[Finding]:
    """A pool of threads whose tasks are so short that handing them over takes longer than they do."""
    pool = [thread for thread in threads if not thread.is_main and _is_of_pool(thread)]
    main = next((thread for thread in threads if thread.is_main and thread.is_critical), None)
    if main is None or len(pool) < 2:
        return
    tree = main.tree
    handing = tree.subtrees(tree.topmost(lambda frame: bool(_POOL.search(frame.file))))
    handed_us = tree.cost_of(handing).wall_us
    tasks_us = sum(activity.on_cpu_us for activity in pool)
    # Tasks that wait, for a simulator or a disk, are what threads are for.
    if _waits_in_tasks(profile, pool) > tasks_us or not main.wall_us:
        return
    most, least = (max(0.0, us / main.wall_us) for us in (handed_us, handed_us - tasks_us))
    if least < MIN_WAIT:
        return
    lines = UserLines.of(profile, main.tree)
    weights = lines.times((node, main.tree.self_cost(node).wall_us) for node in handing)
    if not weights:
        return
    yield Finding(
        title=f"a pool of {len(pool)} threads runs tasks that take less than handing them over "
        f"({short_place(heaviest_line(weights))})",
        savings=(),
        locations=lines.shown_locations(weights, main.wall_us),
        evidence=(
            f"{percent(most)} of the main thread's time hands tasks to the pool and waits for them; the threads of the "
            f"pool have a core for {percent(tasks_us / main.wall_us)} of it, all together",
            "the interpreter lock lets one of them run Python at a time",
        ),
        fix="Do it in a plain loop in the main thread, or vectorise it; where tasks take long, hand them to processes. "
        "Threads help where tasks wait, or compute in numpy or torch for milliseconds.",
        confidence=Confidence.BOUNDED,
        remainder=Remainder(handing, Range(1 - most, 1 - least)),
    )


def _is_of_pool(activity: Activity) -> bool:
    return any(_POOL.search(activity.tree.frame(node).file) for node in activity.tree.hot_nodes())


def _waits_in_tasks(profile: Profile, pool: Sequence[Activity]) -> int:
    """Time that threads, of a pool or others, are asleep in their tasks, waits for the interpreter lock left out."""
    for_lock = {
        (wait.thread, node)
        for wait in profile.waits
        if wait.kind is WaitKind.GIL
        for node in wait.nodes
    }
    return sum(
        cost.idle_us
        for activity in pool
        for node, cost in activity.tree.self_costs()
        if (activity.thread, node) not in for_lock
        and not _HANDS_OVER.search(activity.tree.frame(node).file)
    )


def _free_cores(profile: Profile, turn_takers: Sequence[Activity]) -> float:
    """Cores that the threads could use: theirs, and those that nobody of the run uses."""
    own = sum(taker.on_cpu_us for taker in turn_takers)
    return profile.load.cores - max(0, profile.load.got_us - own) / max(1, profile.steady_us)


DETECTOR: Final = Detector(
    id="gil-contention",
    name="Python threads that take turns at the interpreter lock",
    in_samples=InSamples(detect),
)
