"""From a recording to a profile: the order of the transforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from rlprof.analysis.activities import describe_activities, sum_threads, wait_graph
from rlprof.analysis.bound import find_bound
from rlprof.analysis.components import (
    classify_components,
    marked_phases,
    measure_components,
    process_components,
)
from rlprof.analysis.critical import (
    CriticalThreads,
    describe_critical,
    find_critical_threads,
    host_load,
    place_threads,
)
from rlprof.analysis.fold import Folded, Place, Timeline, Times, fold, importing_nodes, sum_times
from rlprof.analysis.gpus import measure_gpus
from rlprof.analysis.helping import (
    cpu_costs,
    wall_costs,
    weigh_helpers,
)
from rlprof.analysis.memory import measure_memory
from rlprof.analysis.native_threads import measure_threads
from rlprof.analysis.origin import Origin, installed_package, origin_of_file
from rlprof.analysis.phases import find_phases, phases_of, process_phases
from rlprof.analysis.quality import quality_notes
from rlprof.analysis.roles import ROLES, process_roles, roles_by_work
from rlprof.analysis.started import started_package
from rlprof.analysis.steps import Span, StepCounts, count_steps
from rlprof.analysis.throughput import measure_throughput
from rlprof.analysis.waits import classify_waits
from rlprof.model.activity import HostLoad, WaitKind
from rlprof.model.calltree import CallTree, Cost
from rlprof.model.profile import Phase, PhaseKind, Profile
from rlprof.model.recording import Recording, Thread

_READ_LIBRARIES_FROM: Final = 0.01
"""Part of the steady time that passes through a library's file from which its source is read. Imports
of torch leave 8 MB of sources in a run file, whose syntax trees take 10 s to make."""


def build_profile(recording: Recording) -> Profile:
    """Fold a recording by phase; works on any recording, an empty one included."""
    counts = count_steps(recording)
    importing = importing_nodes(recording.nodes)
    times = sum_times(recording, importing)
    found = find_phases(recording, counts, times)
    critical = find_critical_threads(recording, counts, found, times)
    kinds = classify_waits(recording.nodes, recording.sources)
    names = classify_components(recording.nodes, recording.sources)
    threads = sum_threads(recording, found.steady, importing, kinds)
    working = {recording.threads[thread].process for thread in critical.threads}
    steady_counts = _steady_counts(recording, found.steady)
    roles = roles_by_work(
        process_roles(recording.processes, working or counts.spans.keys()),
        process_components(threads.costs, [it.process for it in recording.threads], kinds, names),
        updates={it for it, named in steady_counts.items() if named.get("updates")},
        steps={it for it, named in steady_counts.items() if any(map(is_env_count, named))},
    )
    load = host_load(recording, found.steady)
    places = place_threads(recording, found, critical, roles, all_threads_help=load.saturated)
    weights = weigh_helpers(recording, places, times, critical, threads, roles)
    everybody = [1.0] * len(recording.threads)
    folded = fold(
        recording,
        importing,
        places,
        _timeline(recording, times, places),
        _role_marks(recording.threads, roles),
        everybody if load.saturated else weights,
    )
    steady = _steady_costs(critical, folded, load, kinds)
    phases = phases_of(found, recording.windows)
    whole = CallTree(recording.nodes, folded.whole().costs())
    package = started_package(whole)
    tree = CallTree(recording.nodes, steady)
    described = describe_critical(recording, critical, times, steady, load)
    activities = describe_activities(recording, found.steady, threads, roles, critical.threads)
    waits = wait_graph(recording, found.steady, threads, times, roles)
    throughput = measure_throughput(recording, counts, found)
    # Updates may stand in for a rate; they are no steps.
    steps = _steady_steps(counts, found.steady) if throughput.unit == "steps" else 0.0
    own_us = sum(it.wall_us for it in activities if it.is_critical)
    profile = Profile(
        run=recording.run,
        processes=recording.processes,
        threads=recording.threads,
        windows=recording.windows,
        phases=phases,
        throughput=throughput,
        steady=tree,
        start_up=CallTree(recording.nodes, folded.start_up.costs()),
        whole=whole,
        critical=described,
        start_up_us=_length_us(phases, PhaseKind.START_UP),
        sources=_worth_reading(recording.sources, tree, package),
        process_roles=roles,
        process_phases=process_phases(recording, found, phases),
        node_roles=_node_roles(folded.seen_by),
        activities=activities,
        waits=waits,
        wait_kinds=kinds,
        load=load,
        bound=find_bound(activities, waits, load, roles, recording.processes),
        components=(
            *marked_phases(steady_counts, working, own_us, steps, load.cores),
            *measure_components(activities, tree, described.wall_us, load, steps, kinds, names),
        ),
        steady_us=_length_us(phases, PhaseKind.STEADY),
        steady_steps=steps,
        counts=_summed(steady_counts),
        process_counts=steady_counts,
        thread_use=measure_threads(recording, found.steady),
        gpus=measure_gpus(recording, found.steady),
        started_package=package,
    )
    return replace(
        profile,
        memory=measure_memory(recording, profile),
        notes=quality_notes(recording, profile),
    )


def _steady_counts(recording: Recording, steady: Span | None) -> dict[int, dict[str, float]]:
    """What each process counted in the steady phase, by name."""
    counts: dict[int, dict[str, float]] = {}
    for counter in recording.counters:
        if steady is not None and steady.first <= counter.window <= steady.last:
            named = counts.setdefault(counter.process, {})
            named[counter.name] = named.get(counter.name, 0.0) + counter.value
    return counts


def _summed(counts: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for named in counts.values():
        for name, value in named.items():
            total[name] = total.get(name, 0.0) + value
    return total


def _steady_steps(counts: StepCounts, steady: Span | None) -> float:
    if steady is None:
        return 0.0
    return sum(sum(steps[steady.first : steady.last + 1]) for steps in counts.per_window.values())


def is_env_count(name: str) -> bool:
    """Whether the counter is of an environment that the process steps itself, not by workers."""
    return name in ("steps:gymnasium.env", "steps:torchrl.env")


def _length_us(phases: Sequence[Phase], kind: PhaseKind) -> int:
    return sum(phase.end_us - phase.start_us for phase in phases if phase.kind is kind)


def _steady_costs(
    critical: CriticalThreads,
    folded: Folded,
    load: HostLoad,
    kinds: Mapping[int, WaitKind],
) -> dict[int, Cost]:
    if not critical.threads:
        return {}
    if load.saturated:
        return cpu_costs(folded.critical, folded.helping)
    return wall_costs(folded.critical, folded.helping, kinds)


def _timeline(recording: Recording, times: Times, places: bytearray) -> Timeline:
    """Scales that lay the main threads' time side by side onto the run's own.

    A window's length goes to those that work in it, a process that steps already included; waits
    get what is left. A process alone thus keeps its time as it is.
    """
    count = len(recording.windows)
    active, idle = [0] * count, [0] * count
    for thread in recording.threads:
        if not thread.is_main:
            continue
        for window in range(count):
            cell = times.at(thread.id, window)
            works = times.busy_us[cell] + times.waiting_import_us[cell]
            active[window] += works
            if places[cell] == Place.START_UP:
                idle[window] += times.idle_us[cell] - times.waiting_import_us[cell]
    scales = [
        _share_out(window.length_us, active[window.id], idle[window.id])
        for window in recording.windows
    ]
    return Timeline([scale for scale, _ in scales], [scale for _, scale in scales])


def _share_out(length: int, active: int, idle: int) -> tuple[float, float]:
    """Scales of active and of idle time so that together they do not exceed ``length``."""
    if active >= length:
        return (length / active if active else 1.0), 0.0
    left = length - active
    return 1.0, (min(1.0, left / idle) if idle else 1.0)


def _role_marks(threads: Sequence[Thread], roles: Mapping[int, str]) -> list[int]:
    return [1 << ROLES.index(roles[thread.process]) for thread in threads]


def _node_roles(seen_by: Sequence[int]) -> dict[int, frozenset[str]]:
    of_mask: dict[int, frozenset[str]] = {}
    roles: dict[int, frozenset[str]] = {}
    for node, mask in enumerate(seen_by):
        if mask:
            if mask not in of_mask:
                of_mask[mask] = frozenset(role for bit, role in enumerate(ROLES) if mask >> bit & 1)
            roles[node] = of_mask[mask]
    return roles


def _worth_reading(sources: Mapping[str, str], steady: CallTree, package: str) -> dict[str, str]:
    """The user's sources, and those of libraries with a part in the steady phase."""
    least_us = _READ_LIBRARIES_FROM * steady.total.wall_us
    passed = {
        steady.frame(node).file
        for node in steady.hot_nodes()
        if steady.total_cost(node).wall_us >= least_us
    }
    return {
        file: text
        for file, text in sources.items()
        if file in passed
        or origin_of_file(file) is Origin.YOURS
        or (package and installed_package(file) == package)
    }
