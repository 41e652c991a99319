"""From a recording to a profile: a list of transforms, in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from rlprof.libraries.step_sources import OWN_ENVS
from rlprof.model.activity import (
    NO_LOAD,
    NOT_BOUND,
    Activity,
    Bound,
    Component,
    HostLoad,
    Wait,
    WaitKind,
)
from rlprof.model.calltree import CallTree, Cost
from rlprof.model.crash import Hang
from rlprof.model.gauges import VOLUNTARY_SWITCHES
from rlprof.model.profile import Critical, Phase, PhaseKind, Profile
from rlprof.model.recording import Recording
from rlprof.pace.hangs import ENDLESS, is_after_a_death, waited_by_thread
from rlprof.pace.load import host_load
from rlprof.pace.pace import Pace, measure_pace
from rlprof.pace.phases import process_phases
from rlprof.pace.steady_gauges import SteadyGauges
from rlprof.pace.steps import Span
from rlprof.profile.activities import SteadyThreads, describe_activities, sum_threads, wait_graph
from rlprof.profile.component_costs import marked_phases, measure_components, process_components
from rlprof.profile.components import classify_components
from rlprof.profile.critical import (
    CriticalThreads,
    describe_critical,
    find_bound,
    find_critical_threads,
    place_threads,
    with_threads_awake,
)
from rlprof.profile.fold import Folded, fold, steady_quarters, timeline_of
from rlprof.profile.helping import cpu_costs, wall_costs, weigh_helpers
from rlprof.profile.memory import measure_memory
from rlprof.profile.native_threads import measure_gpus, measure_threads
from rlprof.profile.quality import quality_notes
from rlprof.profile.roles import ROLES, process_roles, roles_by_work
from rlprof.profile.sleepers import find_sleeper
from rlprof.source.lines import Line, UserLines, heaviest_line, started_package
from rlprof.syntax.origin import Origin, installed_package, origin_of_file

_NOWHERE: Final = Line("", 0, "")

_READ_LIBRARIES_FROM: Final = 0.01
"""Part of the steady time that passes through a library's file from which its source is read. Imports
of torch leave 8 MB of sources in a run file, whose syntax trees take 10 s to make."""


def build_profile(recording: Recording, pace: Pace | None = None) -> Profile:
    """Fold a recording by phase; works on any recording, an empty one included.

    ``pace`` is what ``measure_pace`` says of it, for those who have asked already.
    """
    draft = Draft(recording, pace or measure_pace(recording))
    for transform in _TRANSFORMS:
        transform(draft)
    profile = _profile(draft)
    return replace(
        profile,
        memory=measure_memory(recording, profile),
        notes=quality_notes(recording, profile),
    )


def _name_nodes(draft: Draft) -> None:
    """Note which part of training each node is."""
    recording = draft.recording
    time_us = recording.samples.us_by_node(len(recording.nodes))
    draft.parts = classify_components(recording.nodes, recording.sources, time_us)


def _find_critical_threads(draft: Draft) -> None:
    recording, pace = draft.recording, draft.pace
    draft.threads = sum_threads(recording, pace.steady, pace.importing, pace.wait_kinds)
    mains = find_critical_threads(recording, pace.counts, pace.found, pace.times)
    draft.critical = with_threads_awake(mains, recording, draft.threads)
    draft.load = host_load(recording, pace.steady)


def _count(draft: Draft) -> None:
    """Note what each process counted in the steady phase, by name."""
    steady = draft.pace.steady
    for counter in draft.recording.counters:
        if steady is not None and steady.first <= counter.window <= steady.last:
            named = draft.counts.setdefault(counter.process, {})
            named[counter.name] = named.get(counter.name, 0.0) + counter.value


def _name_processes(draft: Draft) -> None:
    recording, counts = draft.recording, draft.counts
    process_of = [thread.process for thread in recording.threads]
    draft.roles = roles_by_work(
        process_roles(recording.processes, draft.working or draft.pace.counts.spans.keys()),
        process_components(draft.threads.costs, process_of, draft.pace.wait_kinds, draft.parts),
        updates={process for process, named in counts.items() if named.get("updates")},
        # At any time: workers of a vector environment are counted for their first step alone.
        steps={counter.process for counter in recording.counters if counter.name in OWN_ENVS},
    )


def _fold(draft: Draft) -> None:
    recording, pace, load = draft.recording, draft.pace, draft.load
    places = place_threads(
        recording, pace.found, draft.critical, draft.roles, all_threads_help=load.saturated
    )
    weights = weigh_helpers(
        recording, places, pace.times, draft.critical, draft.threads, draft.roles
    )
    draft.folded = fold(
        recording,
        pace.importing,
        places,
        timeline_of(recording, pace.times, places),
        [1 << ROLES.index(draft.roles[thread.process]) for thread in recording.threads],
        [1.0] * len(recording.threads) if load.saturated else weights,
    )


def _weigh_steady_time(draft: Draft) -> None:
    """Note what each µs is worth: on a full host CPU time, else the wall time of those that make the steps."""
    folded = draft.folded
    costs = {}
    if draft.critical.threads:
        if draft.load.saturated:
            costs = cpu_costs(folded.critical, folded.helping)
        else:
            costs = wall_costs(folded.critical, folded.helping, draft.pace.wait_kinds)
    draft.steady = CallTree(draft.recording.nodes, costs)
    draft.described = describe_critical(
        draft.recording, draft.critical, draft.pace.times, costs, draft.load
    )


def _describe_waits(draft: Draft) -> None:
    recording, steady = draft.recording, draft.pace.steady
    draft.activities = describe_activities(
        recording, steady, draft.threads, draft.roles, draft.critical.threads
    )
    draft.waits = wait_graph(recording, steady, draft.threads, draft.pace.times, draft.roles)
    draft.bound = find_bound(
        draft.activities,
        draft.waits,
        draft.load,
        draft.roles,
        recording.processes,
        find_sleeper(draft.activities, draft.waits, draft.pace.wait_kinds, recording.sources),
    )


def _part_steady_time(draft: Draft) -> None:
    """The parts of training: those that the program marked, then those that its functions tell."""
    steps, load = draft.pace.steady_steps, draft.load
    own_us = sum(activity.wall_us for activity in draft.activities if activity.is_critical)
    has_ceilings = not draft.pace.throughput.drifts_by_factors
    for_the_gil = {node for wait in draft.waits if wait.kind is WaitKind.GIL for node in wait.nodes}
    draft.components = (
        *marked_phases(
            draft.counts, draft.working, own_us, steps, load.cores, has_ceilings=has_ceilings
        ),
        *measure_components(
            draft.activities,
            draft.steady,
            draft.described.wall_us,
            load,
            steps,
            {**draft.pace.wait_kinds, **dict.fromkeys(for_the_gil, WaitKind.GIL)},
            draft.parts,
            has_ceilings=has_ceilings,
        ),
    )


_TRANSFORMS: Final[tuple[Callable[[Draft], None], ...]] = (
    _name_nodes,
    _find_critical_threads,
    _count,
    _name_processes,
    _fold,
    _weigh_steady_time,
    _describe_waits,
    _part_steady_time,
)
"""Each reads what those before it found, and adds its own."""


def _profile(draft: Draft) -> Profile:
    recording, pace = draft.recording, draft.pace
    whole = CallTree(recording.nodes, draft.folded.whole().costs())
    package = started_package(whole)
    return Profile(
        run=recording.run,
        processes=recording.processes,
        threads=recording.threads,
        windows=recording.windows,
        phases=pace.phases,
        throughput=pace.throughput,
        steady=draft.steady,
        start_up=CallTree(recording.nodes, draft.folded.start_up.costs()),
        whole=whole,
        critical=draft.described,
        start_up_us=_length_us(pace.phases, PhaseKind.START_UP),
        sources=_worth_reading(recording.sources, draft.steady, package),
        values=recording.values,
        sync_sites=recording.sync_sites,
        process_roles=draft.roles,
        process_phases=process_phases(recording, pace.found, pace.phases),
        node_roles=_node_roles(draft.folded.seen_by),
        activities=draft.activities,
        waits=draft.waits,
        wait_kinds=pace.wait_kinds,
        parts=draft.parts,
        load=draft.load,
        bound=draft.bound,
        components=draft.components,
        steady_us=_length_us(pace.phases, PhaseKind.STEADY),
        steady_steps=pace.steady_steps,
        quarters=steady_quarters(recording, pace, draft.critical.threads),
        counts=_summed(draft.counts),
        process_counts=draft.counts,
        switches=_switches(recording, pace.steady),
        thread_use=measure_threads(recording, pace.steady),
        gpus=measure_gpus(recording, pace.steady),
        hang=describe_hang(recording, pace, draft.roles),
        started_package=package,
    )


def _switches(recording: Recording, steady: Span | None) -> dict[int, float]:
    return {} if steady is None else SteadyGauges(recording, steady).sums(VOLUNTARY_SWITCHES)


def _summed(counts: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for named in counts.values():
        for name, value in named.items():
            total[name] = total.get(name, 0.0) + value
    return total


def _length_us(phases: Sequence[Phase], kind: PhaseKind) -> int:
    return sum(phase.end_us - phase.start_us for phase in phases if phase.kind is kind)


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


@dataclass(slots=True)
class Draft:
    """Each field is set by the transform that finds it, for those after it; ``Profile`` says what they mean."""

    recording: Recording
    pace: Pace
    parts: Sequence[str] = ()
    """The part of training of each node, by its number."""
    critical: CriticalThreads = field(init=False)
    threads: SteadyThreads = field(init=False)
    load: HostLoad = NO_LOAD
    counts: dict[int, dict[str, float]] = field(default_factory=dict)
    """By process and name, of the steady phase."""
    roles: Mapping[int, str] = field(default_factory=dict)
    folded: Folded = field(init=False)
    steady: CallTree = field(init=False)
    described: Critical = field(init=False)
    activities: tuple[Activity, ...] = ()
    waits: tuple[Wait, ...] = ()
    bound: Bound = NOT_BOUND
    components: tuple[Component, ...] = ()

    @property
    def working(self) -> set[int]:
        """Processes of the critical threads."""
        return {self.recording.threads[thread].process for thread in self.critical.threads}


def describe_hang(recording: Recording, pace: Pace, roles: Mapping[int, str]) -> Hang | None:
    """The hang of a run; of those that wait in it, the process that was started first."""
    stretch = pace.found.hang
    if stretch is None:
        return None
    start_us = recording.windows[stretch.first].start_us
    waited = waited_by_thread(recording, stretch, pace.wait_kinds)
    mains = [thread for thread in recording.threads if thread.is_main and waited.get(thread.id)]
    most_us = max(sum(waited[main.id].values()) for main in mains)
    thread = min(
        (main for main in mains if 2 * sum(waited[main.id].values()) >= most_us),
        key=lambda main: (recording.processes[main.process].started_us, main.process),
    )
    kinds = {kind: us for kind, us in waited[thread.id].items() if kind in ENDLESS}
    kinds = kinds or waited[thread.id]
    place = _place(recording, thread.id, stretch, pace.wait_kinds)
    return Hang(
        start_us=start_us,
        end_us=recording.windows[stretch.last].end_us,
        pid=recording.processes[thread.process].pid,
        role=roles.get(thread.process, ""),
        kind=max(kinds, key=lambda kind: (kinds[kind], kind.value)).value,
        file=place.file,
        line=place.line,
        function=place.function,
        for_the_dead=is_after_a_death(recording, start_us),
    )


def _place(recording: Recording, thread: int, stretch: Span, kinds: Mapping[int, WaitKind]) -> Line:
    waited: dict[int, int] = defaultdict(int)
    for window, of, node, wall, idle, _ in recording.samples.rows():
        if of == thread and stretch.first <= window <= stretch.last:
            waited[node] += wall if kinds.get(node) is WaitKind.POLL else idle
    tree = CallTree(recording.nodes, {node: Cost(us, us, 0) for node, us in waited.items() if us})
    times = ((node, cost.wall_us) for node, cost in tree.self_costs())
    by_line = UserLines(tree, recording.sources).times(times)
    return heaviest_line(by_line) if by_line else _NOWHERE
