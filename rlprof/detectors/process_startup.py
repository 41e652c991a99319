"""Workers that import for longer than they are worth, and pools that are made again and again."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.processes.crews import loads_data
from rlprof.detectors.recognisers.processes.started_programs import (
    StartedPrograms,
    started_programs,
)
from rlprof.detectors.recognisers.processes.worker_start import (
    MIN_SHARE_REMADE,
    WorkerStart,
    is_heavy,
    making_nodes,
    runs_in_worker,
    starting_nodes,
    worker_start,
)
from rlprof.model.activity import FOR_OTHERS, Activity, WaitKind
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree, Cost, sum_costs
from rlprof.model.finding import Confidence, Finding, Location, Range, Remainder, Saving
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import NO_PARENT
from rlprof.profile.roles import SERVICES
from rlprof.source.lines import Line, UserLines, short_place
from rlprof.units import count, duration, percent

MIN_MAKING: Final = 0.03
"""Part of the steady phase that makes and ends processes, and of the run that imports in them. A
pool that is kept takes none."""

MOST_REMOVABLE: Final = calibrated(
    0.97,
    unit="part of the imports",
    source="to start and end a forked worker takes 6 to 8 ms",
    date="2026-11-21",
)
"""A forked worker imports nothing, but it has to start and to end."""

CERTAIN_AT_MOST: Final = 0.9
"""Part of it that is certain, at most: a forkserver imports once, while nothing else happens."""

KEPT_POOL: Final = calibrated(
    Range(0.9, 0.995),
    unit="part of making and ending processes",
    source="a round of 4 tasks takes 0.3 to 2.7 ms in a pool that is kept, 60 to 80 ms with a pool "
    "of 4 forked for it, 160 to 185 ms where torch is loaded",
    date="2026-11-21",
)
"""Part that goes with a pool that is kept."""

RESTARTED: Final = calibrated(
    Range(0.85, 0.995),
    unit="part of the start of a program",
    source="Python 3.11: python -c with an import of numpy takes 100 to 900 ms, a task in a worker that is kept 0.1",
    date="2026-11-29",
)
"""Part of starting a program anew that goes where it is kept."""

WARM_UP_US: Final = calibrated(
    30_000.0,
    unit="µs",
    source="rounds of Pendulum: 134 ms in processes made for them, 104 in a pool that was kept",
    date="2026-11-21",
)
"""Most that a first task takes longer than the next in the same process, whose code is specialised and
whose memory is there."""

IMBALANCE: Final = 1.3
"""Tasks of a round may take this much longer than if all workers had some to the end: ``Pool.map``
makes four chunks a worker, and the last may run alone."""

SHOWN_LINES: Final = 6
SHOWN_MODULES: Final = 3
MIN_MODULE_SHARE: Final = 0.1
"""Least share of the workers' imports: lighter modules are not named."""

_FOR_RESULTS: Final = frozenset({WaitKind.FUTURE, WaitKind.QUEUE, WaitKind.JOIN})

_POOL: Final = re.compile(r"[/\\]multiprocessing[/\\](pool|queues|process)\.py$")
"""Code of the pool: what workers do between tasks goes with it."""

_INSTALLED: Final = re.compile(
    r"[/\\](?:(?:site|dist)-packages|python3\.\d+t?)[/\\](?!(?:site|dist)-packages)(?P<name>[^/\\.]+)"
)


def detect(profile: Profile) -> Iterable[Finding]:
    start = worker_start(profile)
    remade = _remade(start, profile) if start.remade else None
    if remade is not None:
        # Imports are part of what a kept pool spares.
        yield remade
    elif is_heavy(start, profile):
        yield _imports(start, profile)
    if (programs := started_programs(profile)) is not None:
        yield from _restarted(programs, profile)


def _restarted(programs: StartedPrograms, profile: Profile) -> Iterator[Finding]:
    """Tell of programs that a loop starts anew for each of their tasks."""
    time, part = programs.time, 1 - programs.own_part
    if not time.is_worth(MIN_SHARE_REMADE) or part * time.total_us < MIN_SHARE_REMADE * (
        profile.critical.wall_us
    ):
        return
    number = len(programs.processes)
    yield Finding(
        title=f"{count(number)} programs in Python are started anew in the loop ({time.place})",
        savings=(Saving(time.nodes, RESTARTED.scaled(part)),),
        locations=time.locations[:SHOWN_LINES],
        evidence=(
            time.share_spent("in starting them, and in waiting for them"),
            f"{percent(part)} of their lives starts the interpreter and imports: "
            f"{duration(part * programs.lived_us / number)} for each",
        ),
        fix="Call the function in this process, or in a worker that is kept: one ProcessPoolExecutor(1) for all of them, "
        "or a program that reads its tasks line by line.",
        confidence=Confidence.BOUNDED,
    )


def _imports(start: WorkerStart, profile: Profile) -> Finding:
    share = start.us / profile.run.wall_us
    modules = _modules(start, profile.start_up)
    what = " and ".join(modules[:2])
    number = len(start.processes)
    return Finding(
        title=f"{count(number)} worker{'s' if number != 1 else ''} import"
        f"{'s' if number == 1 else ''} {what or 'modules'} for {percent(share)} of the run",
        phase=PhaseKind.START_UP,
        savings=(Saving(start.nodes, _removable(start, profile)),),
        locations=_import_locations(start, profile)[:SHOWN_LINES],
        evidence=tuple(_import_evidence(start, profile, modules)),
        fix=_fix(start),
        confidence=Confidence.BOUNDED,
    )


def _import_locations(start: WorkerStart, profile: Profile) -> tuple[Location, ...]:
    """Return where the imports are; of processes that are made again and again where they are started comes first."""
    lines = UserLines.of(profile, profile.start_up)
    imports = lines.locations(_weights(start.nodes, profile.start_up, lines), profile.run.wall_us)
    if not start.remade:
        return imports
    made: tuple[Location, ...] = ()
    for tree in (profile.steady, profile.start_up):
        lines = UserLines.of(profile, tree)
        weights = _weights(starting_nodes(tree), tree, lines)
        made += lines.locations(weights, profile.run.wall_us)
    return made + imports


def _removable(start: WorkerStart, profile: Profile) -> Range:
    """All but one import, at least; with fork nothing is left.

    Imports side by side on free cores take no longer than one of them.
    """
    side_by_side = min(profile.load.cores, start.at_once)
    once = 1 - side_by_side / len(start.processes)
    return Range(min(CERTAIN_AT_MOST, max(0.0, once)), MOST_REMOVABLE)


def _modules(start: WorkerStart, tree: CallTree) -> list[str]:
    """The installed modules with most of the time, by the outermost that is imported."""
    times: dict[str, int] = defaultdict(int)
    outermost: dict[int, str] = {}
    for node in sorted(tree.with_callers(start.nodes)):
        parent = tree.nodes[node].parent
        name = outermost.get(parent, "")
        if not name and (found := _INSTALLED.search(tree.frame(node).file)):
            name = "" if found["name"] in ("multiprocessing", "runpy") else found["name"]
        outermost[node] = name
        if name and node in start.nodes:
            times[name] += tree.self_cost(node).wall_us
    ranked = sorted(times.items(), key=lambda item: (-item[1], item[0]))
    return [name for name, us in ranked if us >= MIN_MODULE_SHARE * start.us][:SHOWN_MODULES]


def _weights(nodes: Collection[int], tree: CallTree, lines: UserLines) -> dict[Line, float]:
    weights: dict[Line, float] = defaultdict(float)
    for node in nodes:
        owner = lines.owner(node)
        if owner != NO_PARENT and not tree.frame(owner).file.startswith("<"):
            weights[lines.line(owner)] += tree.self_cost(node).wall_us
    return weights


def _import_evidence(
    start: WorkerStart, profile: Profile, modules: Collection[str]
) -> Iterator[str]:
    number = len(start.processes)
    methods = " and ".join(sorted({process.start_method for process in start.processes}))
    yield (
        f"{count(number)} processes started by {methods}, {count(start.at_once)} at a time: "
        f"{duration(start.us)} of the run goes into imports in them"
        + (f" ({', '.join(modules)})" if modules else "")
    )
    if start.remade:
        yield f"the whole set of workers was made {count(round(start.rounds))} times"
    main = profile.start_up.total.wall_us - start.us
    yield f"all other start-up takes {duration(max(0, main))}, of a run of {duration(profile.run.wall_us)}"


def _fix(start: WorkerStart) -> str:
    kept = "Make the pool once, outside of the loop, and keep it. " if start.remade else ""
    if all(process.start_method == "fork" for process in start.processes):
        return kept + "Import before the workers are forked: they inherit what is loaded."
    return (
        kept + "Start workers by a forkserver that has imported already "
        "(context = multiprocessing.get_context('forkserver'); "
        "context.set_forkserver_preload(['torch'])), or by fork before any thread is started; "
        "and keep heavy imports out of the modules that workers load, behind "
        "if __name__ == '__main__' or inside the functions that use them."
    )


@dataclass(frozen=True, slots=True)
class _Maker:
    """The process that makes the pools; parts are of the steady phase."""

    working: float
    """Making processes left out."""
    making: float
    waited: float
    """For results and for ends of processes."""
    nodes: frozenset[int]
    """Nodes of the making."""
    wait_nodes: frozenset[int]
    weights: dict[Line, float]


def _maker(start: WorkerStart, profile: Profile) -> _Maker | None:
    """The process outside of the pools that spends most in making them and waiting for them."""
    pooled = {process.id for process in start.processes}
    makers = [
        _describe_maker(activity, profile)
        for activity in profile.activities
        if activity.is_main and activity.process not in pooled and activity.role not in SERVICES
    ]
    return max(makers, key=lambda maker: maker.making + maker.waited, default=None)


def _describe_maker(activity: Activity, profile: Profile) -> _Maker:
    steady = max(1, profile.steady_us)
    nodes = making_nodes(activity.tree)
    busy = activity.tree.cost_of(nodes).busy_us
    waits = [
        wait
        for wait in profile.waits
        if wait.thread == activity.thread and wait.kind in _FOR_RESULTS
    ]
    lines = UserLines.of(profile, activity.tree)
    waited = sum(wait.wall_us for wait in waits)
    making = activity.tree.cost_of(nodes).wall_us
    both = sum(
        activity.tree.self_cost(node).idle_us for wait in waits for node in wait.nodes & nodes
    )
    return _Maker(
        working=max(0, activity.working_us - busy) / steady,
        making=making / steady,
        waited=(waited - both) / steady,
        nodes=nodes,
        wait_nodes=frozenset[int]().union(*(wait.nodes for wait in waits)),
        # What joins them takes longer, and stays.
        weights=_weights(starting_nodes(activity.tree) or nodes, activity.tree, lines),
    )


def _remade(start: WorkerStart, profile: Profile) -> Finding | None:
    maker = _maker(start, profile)
    importing = start.us / max(1, profile.run.wall_us)
    if maker is None or maker.making + importing < MIN_MAKING:
        return None
    steady = profile.steady
    touched = frozenset(
        node
        for node, cost in steady.self_costs()
        if cost.wall_us
        and (
            node in maker.nodes or node in maker.wait_nodes or _POOL.search(steady.frame(node).file)
        )
    )
    if not touched:
        return None
    lines = UserLines.of(profile, steady)
    locations = lines.locations(maker.weights, max(1, profile.steady_us))[:SHOWN_LINES]
    where = f" ({short_place(locations[0])})" if locations else ""
    number = len(start.processes)
    return Finding(
        title=f"{count(number)} processes are made and ended in the loop{where}",
        savings=(),
        locations=locations,
        evidence=(
            f"{percent(maker.making)} of the steady time makes, joins and ends processes; imports "
            f"in them take {percent(importing)} of the run",
            f"{count(number)} processes in all, {count(start.at_once)} at a time: "
            f"the whole set was made {count(round(start.rounds))} times",
        ),
        fix=_kept(start, profile),
        confidence=Confidence.BOUNDED,
        remainder=Remainder(touched, _left(start, maker, profile)),
    )


def _kept(start: WorkerStart, profile: Profile) -> str:
    """Return how the processes are kept."""
    if _is_loader(start, profile):
        return (
            "Keep the workers of the loader from epoch to epoch: DataLoader(..., persistent_workers=True). "
            "Or let one epoch be many passes over the data."
        )
    return (
        "Make the pool once, before the loop, and keep it: with Pool(n) as pool: for ...: "
        "pool.map(...), or one ProcessPoolExecutor for all rounds."
    )


def _is_loader(start: WorkerStart, profile: Profile) -> bool:
    """Tell whether the processes are those of a loader of batches."""
    pooled = {process.id for process in start.processes}
    return any(
        loads_data(activity.tree)
        for activity in profile.activities
        if activity.is_main and activity.process in pooled
    )


def _left(start: WorkerStart, maker: _Maker, profile: Profile) -> Range:
    """At best only the tasks and the own work of the process that makes the pools are left; at worst
    the waits for results that the tasks do not explain go, and what makes processes.

    Tasks stand on what was seen of them: processes that were gone before a sampler came are taken
    to have done as much as the others.
    """
    pooled = {process.id for process in start.processes}
    seen = [
        activity
        for activity in profile.activities
        if activity.is_main and activity.process in pooled
    ]
    unseen = len(pooled) / max(1, len(seen))
    known: dict[int, bool] = {}
    tasks = [_task_time(activity, profile, known) for activity in seen]
    steady = max(1, profile.steady_us) / unseen
    on_cpu = sum(task.cpu_us for task in tasks) / min(profile.load.cores, start.at_once) / steady
    # With waits for a CPU: it may be others than these processes that hold the cores.
    in_turn = sum(task.wall_us for task in tasks) / start.at_once / steady
    elapsed = max(on_cpu, in_turn)
    unexplained = max(0.0, maker.waited - IMBALANCE * elapsed)
    worst = 1 - (maker.making + unexplained) * KEPT_POOL.low * (1 - 1 / start.rounds)
    warm = len(seen) * WARM_UP_US / min(profile.load.cores, start.at_once) / steady
    tasks_left = max(elapsed / 2, elapsed - warm)
    # Loaders work ahead while their batches are learned from; who maps tasks over a pool waits for them.
    best = (
        max(maker.working, tasks_left) if _is_loader(start, profile) else maker.working + tasks_left
    )
    best += (1 - KEPT_POOL.high) * maker.making
    worst = max(0.0, worst)
    return Range(min(worst, best), worst)


def _task_time(activity: Activity, profile: Profile, known: dict[int, bool]) -> Cost:
    """Return what a worker does once it is there; waits for tasks and for locks left out.

    Of a process that no sampler saw, only the probe's stacks are known: nobody knows where it slept.
    """
    is_seen = profile.processes[activity.process].fate == "sampled"
    costs = []
    waited = 0
    for node, cost in activity.tree.self_costs():
        if runs_in_worker(node, activity.tree, known):
            costs.append(cost)
            kind = profile.wait_kinds.get(node)
            if not is_seen or kind in FOR_OTHERS or kind is WaitKind.LOCK:
                waited += cost.idle_us
    whole = sum_costs(costs)
    return Cost(whole.wall_us - waited, whole.idle_us - waited, whole.cpu_us)


DETECTOR: Final = Detector(
    id="process-startup",
    name="workers that import for long, and pools made again and again",
    in_samples=InSamples(detect),
)
