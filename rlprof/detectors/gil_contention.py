"""Several Python threads of one process, of which the interpreter lock lets one run at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.transport import serves_queues
from rlprof.model.activity import Activity, WaitKind
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Remainder
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.source.lines import Line, UserLines
from rlprof.units import percent

MIN_WAIT: Final = 0.05
"""Part of the steady phase that the threads of a process together wait for the lock. A helper thread
that wakes up now and then makes the main thread wait for under a percent."""

TAKES_PART: Final = 0.05
"""Part of the steady phase that a thread works for from which on it is one of several."""

REACHED: Final = 0.6
"""Part of the gain of perfect processes that real ones reach at least: what the threads share now has
to be sent."""

WITHOUT_HAND_OVER: Final = calibrated(
    0.7,
    unit="part of what it takes now",
    source="two threads of a Blackjack program on two cores, as processes: 0.38 to 0.63 saved, "
    "where the cores alone would save a half",
    date="2026-11-21",
)
"""What the work itself then takes at least: handing the lock over costs both sides."""


def detect(profile: Profile) -> Iterable[Finding]:
    if not profile.steady_us or profile.load.saturated:
        return
    by_process: dict[int, list[Activity]] = defaultdict(list)
    for activity in profile.activities:
        by_process[activity.process].append(activity)
    waited = _gil_waits_us(profile)
    for process, threads in sorted(by_process.items()):
        crew = [
            it
            for it in threads
            if it.working_us >= TAKES_PART * profile.steady_us and not _sends_for_others(it)
        ]
        if len(crew) < 2 or waited.get(process, 0) < MIN_WAIT * profile.steady_us:
            continue
        yield from _finding(profile, process, crew, waited[process])


def _sends_for_others(activity: Activity) -> bool:
    """Whether it is the thread of a queue, whose work is pickling: a finding of its own."""
    return any(serves_queues(activity.tree.frame(node)) for node in activity.tree.hot_nodes())


def _gil_waits_us(profile: Profile) -> Mapping[int, int]:
    waited: dict[int, int] = defaultdict(int)
    for wait in profile.waits:
        if wait.kind is WaitKind.GIL:
            waited[wait.process] += wait.wall_us
    return waited


def _finding(
    profile: Profile, process: int, crew: Sequence[Activity], waited_us: int
) -> Iterable[Finding]:
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    weights: dict[Line, float] = defaultdict(float)
    nodes: set[int] = set()
    for activity in crew:
        for node, cost in activity.tree.self_costs():
            owner = lines.owner(node)
            if owner != NO_PARENT and cost.busy_us:
                nodes.add(node)
                weights[lines.line(owner)] += cost.busy_us
    if not weights:
        return
    sold = sum(profile.steady.self_cost(node).busy_us for node in nodes)
    # Threads beside the main one have no probe: much of their work is on lines that are not known.
    whole = sum(it.working_us for it in crew) / sum(weights.values())
    # What is not on the critical path gains nothing by being quicker.
    critical = min(1.0, sold * max(1.0, whole) / max(1, profile.critical.wall_us))
    side_by_side = max(1.0, min(float(len(crew)), _free_cores(profile, crew)))
    gain = critical * (1 - 1 / side_by_side)
    most = critical * (1 - WITHOUT_HAND_OVER / side_by_side)
    working = sum(it.working_us for it in crew) / profile.steady_us
    yield Finding(
        title=f"{len(crew)} Python threads of one process take turns at the interpreter lock",
        savings=(),
        locations=lines.shown_locations(weights, sum(it.wall_us for it in crew)),
        evidence=(
            f"{len(crew)} threads of pid {profile.processes[process].pid} work side by side, together "
            f"for {working:.2f} of one core",
            f"runnable, they wait for each other for {percent(waited_us / len(crew) / profile.steady_us)} "
            f"of the steady phase each; {profile.load.cores:g} cores are there",
        ),
        fix="Run them as processes (multiprocessing, one environment vector each), or vectorise the "
        "work over one thread with numpy or torch, which release the lock while they compute.",
        confidence=Confidence.BOUNDED,
        remainder=Remainder(frozenset(nodes), Range(1 - most, 1 - REACHED * gain)),
    )


def _free_cores(profile: Profile, crew: Sequence[Activity]) -> float:
    """Cores that the threads could use: theirs, and those that nobody of the run uses."""
    own = sum(it.on_cpu_us for it in crew)
    return profile.load.cores - max(0, profile.load.got_us - own) / max(1, profile.steady_us)


DETECTOR: Final = Detector(
    id="gil-contention",
    name="Python threads that take turns at the interpreter lock",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES})),
)
