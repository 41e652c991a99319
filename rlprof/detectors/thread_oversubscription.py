"""More native compute threads than cores: they wait for each other at barriers, and burn CPU there."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.processes.locks import (
    asleep_for_locks,
    shares_of,
    work_under_locks,
)
from rlprof.libraries.base import EVERYTHING
from rlprof.libraries.known import files_of
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree
from rlprof.model.finding import Confidence, Finding, Location, Range, Remainder
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.profile.workload import Workload, group, workloads
from rlprof.source.lines import UserLines
from rlprof.syntax.origin import Origin, origin
from rlprof.units import count, percent

MIN_NATIVE: Final = calibrated(
    0.2,
    unit="part of the CPU time",
    source="two threads give 0.50, whether they compute or spin; one gives 0.00",
    date="2026-11-21",
)
"""Part of the CPU time of the processes of a role, in threads that run no Python, from which on each has a
team of them."""

MIN_WANTED: Final = 1.4
"""Cores that the run's threads want over the cores there are. As many threads as cores are well
used; one busy worker beside a learner of two threads on two cores makes 1.5."""

CROWDED_TEAM: Final = 2.0
"""Threads of one process that run no Python, over the cores there are, from which on its team is too
large by itself. A pool for each core and the threads of autograd are fewer."""

MIN_SHARE: Final = 0.1
"""Least share of the CPU time that the run got: what the teams have to have for it to matter."""

REMOVABLE: Final = calibrated(
    Range(0.64, 0.99),
    unit="part of the teams' time",
    source="2 cores, 2 to 8 processes of 2 threads: 0.98 and more for networks of 64 units, 0.86 "
    "to 0.96 for 256, 0.64 to 0.86 for 1024; 0.68 in pairs of spawned learners on a quiet "
    "machine; 1 to 4 ms of CPU time for a barrier",
    date="2026-11-21",
)
"""Part that one thread in each process saves, where operations are short. A barrier costs CPU time, however
short the operation; nothing that can be seen from outside tells a thread that computes from one that spins,
hence the width."""

HINDERED: Final = calibrated(
    Range(0.4, 0.6),
    unit="part of their time",
    source="PPO of Stable-Baselines3 with eight environment workers trains while these sleep, "
    "waited 0.29 for a core, and one thread saved 0.28 (0.09 to 0.29) where 0.51 to 0.81 is "
    "spent; PPO in one file with eight waited 0.10 to 0.18, and one thread saved 0.08 (-0.01 to 0.30) of "
    "0.77; four learners of their own waited 0.65 to 0.71, and one thread each saved 0.94",
    date="2026-11-23",
)
"""Part of their time that the teams' Python threads wait for a core, from which on spinning costs them all
that it takes. Who spins while nobody else wants the cores costs nothing. Below, the upper end of a price is
in proportion to the lower of the two, the lower end to the square of the other: what is hindered a little
finds most of the cores free."""

REMOVABLE_LONG: Final = calibrated(
    Range(0.1, 0.7),
    unit="part of the teams' time",
    source="networks of 2048 units and batches of 1024: 0.2 to 0.67, 0.3 of the CPU time",
    date="2026-11-21",
)
"""The same for operations of more than ``LONG_OPERATION_US``: threads that compute for longer than a time
slice spin for a small part of it."""

LONG_OPERATION_US: Final = calibrated(
    40_000,
    unit="µs",
    source="networks of 1024 units, spinning included: 8 ms an operation",
    date="2026-11-21",
)
"""CPU time between two stacks of the probe, which comes between two bytecodes at the earliest and each 10
ms at best."""

LIMITS: Final = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


_has_teams: Final = files_of(lambda library: EVERYTHING if library.has_thread_teams else None)

_FORMATTING: Final = re.compile(r"[/\\](arrayprint|_tensor_str)\.py$")
"""Files of such libraries, but Python: no team computes there."""


def detect(profile: Profile) -> Iterable[Finding]:
    loads = workloads(profile)
    teams = tuple(_teams(loads))
    got = profile.load.got_us
    team_us = sum(team.python_us + team.native_us for team in teams)
    if not teams or not got or team_us < MIN_SHARE * got:
        return
    wanted = _wanted_cores(loads, teams, profile)
    by_all = max(wanted, _ready_on_the_host(profile))
    if by_all < MIN_WANTED * profile.load.cores:
        return
    nodes = _computing(teams, profile)
    if not nodes:
        return
    threads = _threads_each(teams, profile)
    yield Finding(
        title=f"{group(teams)} with {threads} compute threads "
        f"{'each share' if len(teams) > 1 else 'shares'} {_cores(profile)}"
        f"{' with other programs' if by_all > wanted else ''}",
        savings=(),
        locations=_locations(nodes, profile),
        evidence=tuple(_evidence(teams, wanted, by_all, profile)),
        fix="Give each process one compute thread: torch.set_num_threads(1) first thing in the "
        f"{'worker' if len(teams) > 1 else 'process'}, or OMP_NUM_THREADS=1 (MKL_NUM_THREADS, "
        "OPENBLAS_NUM_THREADS) in the environment before numpy and torch are imported.",
        confidence=Confidence.BOUNDED,
        remainder=Remainder(nodes, _left(teams, team_us, profile)),
    )


def _teams(loads: Collection[Workload]) -> Iterator[Workload]:
    """Yield the processes with compute threads.

    Those of one role are judged together: on crowded cores one of them may hardly have run.
    """
    for role in dict.fromkeys(load.role for load in loads):
        alike = [load for load in loads if load.role == role]
        if _native_share(alike) >= MIN_NATIVE:
            yield from (load for load in alike if _native_share([load]) >= MIN_NATIVE / 4)


def _native_share(loads: Collection[Workload]) -> float:
    total = sum(load.python_us + load.native_us for load in loads)
    return sum(load.native_us for load in loads) / total if total else 0.0


def _per_python(team: Workload, profile: Profile) -> float:
    """Compute threads for each Python thread, told by their CPU time: barriers keep them in step.

    No more than there are: where the Python thread hardly ran, the ratio of their times says nothing.
    """
    told = (team.python_us + team.native_us) / max(1, team.python_us)
    there_are = _native_threads(team, profile)
    return told if there_are is None else min(told, there_are + 1)


def _native_threads(team: Workload, profile: Profile) -> float | None:
    return profile.thread_use.native.get(team.process) if profile.thread_use else None


def _threads_each(teams: Collection[Workload], profile: Profile) -> str:
    sizes = (
        max(2, round(_per_python(team, profile)), round(_crowd(team, profile))) for team in teams
    )
    numbers = sorted(set(sizes))
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _wanted_cores(
    loads: Collection[Workload], teams: Collection[Workload], profile: Profile
) -> float:
    """Threads that run or are ready to, on average; a team's as often as its Python thread."""
    steady = max(1, profile.steady_us)
    wanted = 0.0
    for load in loads:
        busy = (load.main.wall_us - load.main.idle_us) / steady
        size = max(_per_python(load, profile), _crowd(load, profile)) if load in teams else 1.0
        wanted += busy * size
    return wanted


def _ready_on_the_host(profile: Profile) -> float:
    """Threads that run or are ready to, those of other programs among them; 0 where these do not crowd the run.

    Beside others a team wants no more cores than it has threads, and yet never has them at the same time.
    """
    queue = profile.thread_use.host_run_queue if profile.thread_use else None
    if queue is None or not profile.load.is_shared:
        return 0.0
    # Whoever counts them runs at that moment.
    return max(0.0, queue - 1)


def _cores(profile: Profile) -> str:
    return f"{count(profile.load.cores)} core{'s' if profile.load.cores != 1 else ''}"


def _crowd(team: Workload, profile: Profile) -> float:
    """Threads of a team that is larger than any number of cores asks for; they sleep at barriers, so that
    their CPU time does not tell how many there are.
    """
    size = _native_threads(team, profile) or 0.0
    return size + 1 if size > CROWDED_TEAM * profile.load.cores + 1 else 0.0


def _left(teams: Collection[Workload], team_us: int, profile: Profile) -> Range:
    """Return the part that is left. Where the CPUs bound the run, its CPU time counts; else the time of the critical threads. A team
    that sleeps at barriers takes more time than CPU.
    """
    hindered = Range(1.0, 1.0)
    if profile.load.saturated and not any(_crowd(team, profile) for team in teams):
        part = team_us / profile.load.got_us
        queued = sum(team.queued for team in teams) / len(teams)
        hindered = Range(min(1.0, queued / HINDERED.high) ** 2, min(1.0, queued / HINDERED.low))
    else:
        critical = [activity for activity in profile.activities if activity.is_critical]
        own = {team.process for team in teams}
        wall = sum(activity.wall_us for activity in critical)
        part = sum(activity.working_us for activity in critical if activity.process in own) / max(
            1, wall
        )
        # Who waits for a lock waits for the work that is done under it.
        held = shares_of(work_under_locks(profile))
        part += asleep_for_locks(profile) * sum(held.get(process, 0.0) for process in own)
    removable = REMOVABLE_LONG if _operations_are_long(profile) else REMOVABLE
    return Range(1 - part * removable.high * hindered.high, 1 - part * removable.low * hindered.low)


def _operations_are_long(profile: Profile) -> bool:
    critical = [activity for activity in profile.activities if activity.is_critical]
    busy = sum(activity.working_us for activity in critical)
    on_cpu = sum(activity.on_cpu_us for activity in critical)
    # The interval is of busy time, which a thread may spend in the run queue.
    return bool(busy) and (
        profile.critical.sample_interval_us * min(1.0, on_cpu / busy) > LONG_OPERATION_US
    )


def _computing(teams: Collection[Workload], profile: Profile) -> frozenset[int]:
    """Nodes of the teams in numeric libraries; where hardly any is, the user's lines that they are busy in.

    ``x @ y`` runs in C, straight from the user's line, and shows no frame of a library. Where most is in
    neither, the threads without Python are no compute threads: those of Ray, say, pass messages on.
    """
    busy: dict[int, int] = defaultdict(int)
    for team in teams:
        for node, cost in team.main.tree.self_costs():
            if cost.busy_us and node not in profile.wait_kinds:
                busy[node] += cost.busy_us
    inside = _inside_numeric(busy, profile.steady)
    half = 0.5 * sum(busy.values())
    if sum(busy[node] for node in inside) >= half:
        return inside
    own = {node for node in busy if origin(profile.steady.frame(node)) is Origin.YOURS}
    return inside | own if sum(busy[node] for node in inside | own) >= half else frozenset()


def _inside_numeric(busy: Mapping[int, int], tree: CallTree) -> frozenset[int]:
    known: dict[int, _KindOfCode] = {NO_PARENT: _KindOfCode.OUTSIDE}
    for node in busy:
        path = []
        current = node
        while current not in known:
            path.append(current)
            current = tree.nodes[current].parent
        for passed in reversed(path):
            known[passed] = _place(tree.frame(passed).file, known[tree.nodes[passed].parent])
    return frozenset(node for node in busy if known[node] is _KindOfCode.COMPUTING)


class _KindOfCode(Enum):
    OUTSIDE = "outside"
    COMPUTING = "computing"
    FORMATTING = "formatting"


def _place(file: str, above: _KindOfCode) -> _KindOfCode:
    if above is _KindOfCode.FORMATTING or _FORMATTING.search(file):
        return _KindOfCode.FORMATTING
    return _KindOfCode.COMPUTING if above is _KindOfCode.COMPUTING or _has_teams(file) else above


def _locations(nodes: Collection[int], profile: Profile) -> tuple[Location, ...]:
    lines = UserLines.of(profile)
    weights = lines.times((node, profile.steady.self_cost(node).wall_us) for node in nodes)
    return lines.shown_locations(weights, max(1, profile.critical.wall_us))


def _evidence(
    teams: Collection[Workload], wanted: float, by_all: float, profile: Profile
) -> Iterator[str]:
    yield (
        f"{percent(_native_share(teams))} of the CPU time of {group(teams)} is in threads that run no Python: "
        "BLAS, OpenMP or torch pools, computing or spinning at barriers"
    )
    queued = percent(sum(team.queued for team in teams) / len(teams))
    if any(_crowd(team, profile) for team in teams):
        ready = f"{wanted:.0f} threads are at work or wait for each other at any time"
    elif by_all > wanted:
        ready = (
            f"{by_all:.1f} threads are ready to run at any time, {wanted:.1f} of this run and the others of "
            "other programs"
        )
    else:
        ready = f"{wanted:.1f} threads are ready to run at any time"
    yield (
        f"{ready}, on {_cores(profile)}; the Python threads of this run wait {queued} of the time for one"
    )
    found = [
        f"{name}={profile.run.environment[name]}"
        for name in LIMITS
        if name in profile.run.environment
    ]
    yield (
        f"in the environment: {', '.join(found)}"
        if found
        else (f"none of {', '.join(LIMITS[:3])} is set: libraries start a thread for each core")
    )


DETECTOR: Final = Detector(
    id="thread-oversubscription",
    name="more compute threads of BLAS, OpenMP or torch than cores",
    in_samples=InSamples(detect),
)
