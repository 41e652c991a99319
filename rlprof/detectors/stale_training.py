"""A learner that trains again and again on what it has while new steps come slowly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from rlprof.analysis.source.lines import Line, UserLines
from rlprof.analysis.source.parameters import Parameters
from rlprof.detectors.base import Detector, Need
from rlprof.model.activity import FOR_OTHERS
from rlprof.model.counters import OUTPUT_STEPS, STEP_COUNTERS, UPDATES, best_source
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import PhaseKind, Profile
from rlprof.units import count, percent

USUAL_UPDATES: Final = Range(0.25, 4.0)
"""Optimizer steps per environment step. DQN makes one every four steps (Mnih et al. 2015); SAC one
update per step (Haarnoja et al. 2018), which is up to four steps of optimizers: two critics, the actor,
the temperature. PPO of Stable-Baselines3 makes 0.16 (10 epochs of 32 batches for 2 048 steps)."""

MOST_UPDATES: Final = 8.0
"""Optimizer steps per environment step from which on a learner is taken to run free: twice the most that
is usual. REDQ and DroQ make 20 updates a step on purpose (Chen et al. 2021, Hiraoka et al. 2022), and
wait for the step in between: they step and learn in one process, which is left alone."""

OWN_STEPS: Final = 0.05
"""Part of the steps made by processes that learn, up to which acting and learning go on side by side."""

LEAST_STEPS: Final = 20.0
"""Steps in the steady phase, and updates, below which a ratio is luck."""

LEARNERS_OWN: Final = 0.9
"""Part of a node's CPU time in learners from which it is theirs: stacks may be shared with actors."""

SHOWN_LINES: Final = 3

_CAPACITY_NAMES: Final = (
    "buffer_size",
    "buffer_capacity",
    "replay_size",
    "replay_capacity",
    "replay_buffer_size",
    "memory_size",
    "memory_capacity",
    "capacity",
)
_BATCH_NAMES: Final = ("batch_size", "minibatch_size", "mini_batch_size")


@dataclass(frozen=True, slots=True)
class _Pace:
    """What was learned and what was collected in the steady phase."""

    updates: float
    steps: float
    learners: frozenset[int]
    """Ids of the processes that update."""
    actors: frozenset[int]
    """Of those that step the environments."""
    own_steps: float
    """Steps made by learners."""

    @property
    def updates_per_step(self) -> float:
        return self.updates / self.steps


def detect(profile: Profile) -> Iterable[Finding]:
    pace = _pace(profile.process_counts)
    if pace is None or pace.own_steps > OWN_STEPS * pace.steps:
        return
    parameters = Parameters(profile.sources, profile.run.command)
    if pace.updates_per_step >= MOST_UPDATES:
        yield _of_updates(profile, pace, parameters)
    capacity = parameters.named(*_CAPACITY_NAMES)
    if capacity is not None and pace.steps / pace.updates > capacity:
        yield _of_buffer(pace, capacity)


def _pace(counts: Mapping[int, Mapping[str, float]]) -> _Pace | None:
    names = {name for named in counts.values() for name in named}
    source = best_source(names & STEP_COUNTERS - {OUTPUT_STEPS})
    if source is None:
        return None
    steps = {process: named[source] for process, named in counts.items() if named.get(source)}
    updates = {process: named[UPDATES] for process, named in counts.items() if named.get(UPDATES)}
    if sum(steps.values()) < LEAST_STEPS or sum(updates.values()) < LEAST_STEPS:
        return None
    return _Pace(
        updates=sum(updates.values()),
        steps=sum(steps.values()),
        learners=frozenset(updates),
        actors=frozenset(steps) - frozenset(updates),
        own_steps=sum(steps.get(process, 0.0) for process in updates),
    )


def _of_updates(profile: Profile, pace: _Pace, parameters: Parameters) -> Finding:
    ratio = pace.updates_per_step
    nodes, weights = _learning(profile, pace.learners)
    removable = Range(1 - USUAL_UPDATES.high / ratio, 1 - USUAL_UPDATES.low / ratio)
    sells = profile.load.saturated and bool(nodes)
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    return Finding(
        detector=DETECTOR.id,
        title=f"the learner makes {ratio:.0f} updates for each new step",
        phase=PhaseKind.STEADY,
        savings=(Saving(nodes, removable),) if sells else (),
        locations=lines.locations(weights, profile.critical.wall_us)[:SHOWN_LINES],
        evidence=tuple(_evidence(profile, pace, parameters)),
        fix="Let the learner wait for new steps: no more than one update for each (while updates > "
        "steps: wait on a condition). The CPU that it frees goes to the actors.",
        confidence=Confidence.BOUNDED,
    )


def _of_buffer(pace: _Pace, capacity: int) -> Finding:
    each = pace.steps / pace.updates
    return Finding(
        detector=DETECTOR.id,
        title=f"{count(each)} steps are collected for each update, into a buffer of {count(capacity)}",
        phase=PhaseKind.STEADY,
        savings=(),
        locations=(),
        evidence=(
            f"{count(pace.steps)} steps and {count(pace.updates)} updates in the steady phase",
            f"{percent(1 - capacity / each)} of the steps are overwritten before any update sees them",
        ),
        fix="Make the buffer hold at least what is collected between two updates, or collect with fewer "
        "actors: what they step beyond it is thrown away.",
        confidence=Confidence.BOUNDED,
    )


def _learning(
    profile: Profile, learners: frozenset[int]
) -> tuple[frozenset[int], Mapping[Line, float]]:
    """What learners do, waits left out, and their heaviest lines."""
    own: dict[int, int] = defaultdict(int)
    others: dict[int, int] = defaultdict(int)
    for activity in profile.activities:
        part = own if activity.process in learners else others
        for node, cost in activity.tree.self_costs():
            part[node] += cost.cpu_us
    nodes = frozenset(
        node
        for node, us in own.items()
        if us and us >= LEARNERS_OWN * (us + others.get(node, 0))
        if profile.wait_kinds.get(node) not in FOR_OTHERS
    )
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    weights: dict[Line, float] = defaultdict(float)
    for node in nodes:
        owner = lines.owner(node)
        weights[lines.line(owner if owner >= 0 else node)] += profile.steady.self_cost(node).wall_us
    return nodes, {line: us for line, us in weights.items() if us}


def _evidence(profile: Profile, pace: _Pace, parameters: Parameters) -> Iterable[str]:
    yield (
        f"{count(pace.updates)} optimizer steps in {_processes(pace.learners)}, {count(pace.steps)} "
        f"steps in {_processes(pace.actors)}: {pace.updates_per_step:.1f} a step, where "
        f"{USUAL_UPDATES.low:g} to {USUAL_UPDATES.high:g} are usual"
    )
    batch = parameters.named(*_BATCH_NAMES)
    if batch is not None:
        yield f"with batches of {batch}, each step is trained on {count(pace.updates_per_step * batch)} times"
    load = profile.load
    if load.saturated:
        learning = sum(us for process, us in load.by_process if process in pace.learners)
        yield f"the CPUs are full, and {percent(learning / max(1, load.got_us))} of them learns"
    else:
        yield "the CPUs are not full: the updates hold up no step"


def _processes(ids: frozenset[int]) -> str:
    return f"{len(ids)} process{'es' if len(ids) != 1 else ''}"


DETECTOR: Final = Detector(
    id="stale-training",
    name="far more updates than new steps, or a buffer too small for them",
    needs=frozenset({Need.SAMPLES, Need.STEPS}),
    detect=detect,
)
