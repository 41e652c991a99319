"""From a recording to a profile: the order of the transforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rlprof.analysis.critical import (
    CriticalThreads,
    cpu_costs,
    describe_critical,
    find_critical_threads,
    host_load,
    place_threads,
    wall_costs,
)
from rlprof.analysis.fold import Folded, Place, Timeline, Times, fold, importing_nodes, sum_times
from rlprof.analysis.phases import find_phases, phases_of
from rlprof.analysis.quality import quality_notes
from rlprof.analysis.roles import ROLES, process_roles
from rlprof.analysis.started import started_package
from rlprof.analysis.steps import count_steps
from rlprof.analysis.throughput import measure_throughput
from rlprof.model.calltree import CallTree, Cost
from rlprof.model.profile import Phase, PhaseKind, Profile
from rlprof.model.recording import Recording, Thread


def build_profile(recording: Recording) -> Profile:
    """Fold a recording by phase; works on any recording, an empty one included."""
    counts = count_steps(recording)
    importing = importing_nodes(recording.nodes)
    times = sum_times(recording, importing)
    found = find_phases(recording, counts, times)
    critical = find_critical_threads(recording, counts, found, times)
    working = {recording.threads[thread].process for thread in critical.threads}
    roles = process_roles(recording.processes, working or counts.spans.keys())
    load = host_load(recording, found.steady)
    places = place_threads(recording, found, critical, roles, all_threads_help=load.saturated)
    folded = fold(
        recording,
        importing,
        places,
        _timeline(recording, times, places),
        _role_marks(recording.threads, roles),
    )
    steady = _steady_costs(recording, critical, folded, saturated=load.saturated)
    phases = phases_of(found, recording.windows)
    whole = CallTree(recording.nodes, folded.whole().costs())
    profile = Profile(
        run=recording.run,
        processes=recording.processes,
        threads=recording.threads,
        windows=recording.windows,
        phases=phases,
        throughput=measure_throughput(counts, found, recording.windows),
        steady=CallTree(recording.nodes, steady),
        start_up=CallTree(recording.nodes, folded.start_up.costs()),
        whole=whole,
        critical=describe_critical(recording, critical, times, steady, load),
        start_up_us=_start_up_us(phases),
        sources=recording.sources,
        process_roles=roles,
        node_roles=_node_roles(folded.seen_by),
        started_package=started_package(whole),
    )
    return replace(profile, notes=quality_notes(recording, profile))


def _start_up_us(phases: Sequence[Phase]) -> int:
    return sum(
        phase.end_us - phase.start_us for phase in phases if phase.kind is PhaseKind.START_UP
    )


def _steady_costs(
    recording: Recording,
    critical: CriticalThreads,
    folded: Folded,
    *,
    saturated: bool,
) -> dict[int, Cost]:
    if not critical.threads:
        return {}
    if saturated:
        return cpu_costs(folded.critical, folded.helping)
    own = sum(folded.critical.wall_us)
    parallel = sum(folded.helping.wall_us) / own if own else 1.0
    return wall_costs(recording.nodes, folded.critical, folded.helping, parallel=parallel)


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
