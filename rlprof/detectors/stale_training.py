"""A learner that trains again and again on what it has while new steps come slowly."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import working_time
from rlprof.detectors.recognisers.networks.stepped_optimizers import SteppedOptimizers
from rlprof.detectors.recognisers.processes.publishing import find_publishing
from rlprof.libraries.step_sources import STEP_SOURCES, best_source
from rlprof.model.counters import OUTPUT_STEPS, UPDATES
from rlprof.model.finding import Confidence, Finding, Range, Remainder
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.profile.components import DATA, LEARNING
from rlprof.profile.workload import mean, workloads
from rlprof.source.lines import Line, UserLines
from rlprof.source.parameters import Parameters
from rlprof.units import count, percent

USUAL_UPDATES: Final = Range(0.16, 1.0)
"""Updates per environment step. PPO of Stable-Baselines3 makes 0.16 (10 epochs of 32 batches for 2 048
steps), DQN one every four steps (Mnih et al. 2015), SAC one for each (Haarnoja et al. 2018)."""

USUAL_OF_ONE: Final = Range(0.16, 0.5)
"""The same with one optimizer: those that train at each step have several, for actors and critics."""

MOST_IN_TURNS: Final = 1.5
"""Updates per environment step, from which on a program that steps and learns in turns trains more than
any usual algorithm does. Where it says that it is on purpose (REDQ and DroQ make 20 updates a step: Chen et
al. 2021, Hiraoka et al. 2022), it is left alone."""

MOST_BESIDE: Final = 4.0
"""The same for a learner beside its actors, whose pace nobody may have chosen: four times the most that is
usual, since how often it trains swings with the load of the host."""

ON_PURPOSE: Final = re.compile(
    r"\butd|_utd|update_to_data|(replay|train)_ratio|updates_per_(env_)?step|num_train_repeat|model_based"
    r"|\bgradient_steps\s*=\s*(?!1\b)\d",
    re.I,
)
"""The number of updates for each step, by the names that programs give to it: who sets it means it. (In the
code of REDQ, DroQ, MBPO and Dreamer it is ``utd_ratio``, ``num_train_repeat`` and ``train_ratio``.) Where a
model makes up steps, there are more to train on than the environment's. Stable-Baselines3 has ``gradient_steps``, 1 unless it is given."""

_STORES: Final = re.compile(
    r"(memory|buffer|replay|storage|experiences?|\brb)\w*\.(add|append|push|store|remember|put|insert|extend)\w*\("
)
"""New steps are kept to be learned from: not so in training from a data set, which only evaluates."""

OPTIMIZERS: Final = Range(1, 4)
"""Optimizers that step in one update: SAC has two critics, the actor and the temperature. Where the source
shows none, as many as there may be."""

OWN_STEPS: Final = 0.05
"""Part of the steps made by processes that learn, up to which acting and learning go on side by side."""

LEAST_STEPS: Final = 20.0
"""Steps in the steady phase, and updates, below which a ratio is luck."""

LEARNERS_OWN: Final = 0.9
"""Part of a node's CPU time in learners from which it is theirs: stacks may be shared with actors."""

MOSTLY_WAITS: Final = 0.5
"""Part of their time that actors wait, from which on the learner bounds them and not the cores."""

RESTS: Final = 0.05
"""Part of its time that a learner waits for others, from which on it does rest."""

SHOWN_LINES: Final = 3

_OPTIMIZER: Final = re.compile(
    r"(?<!class )\b(Adam|AdamW|RAdam|NAdam|Adamax|Adagrad|SGD|RMSprop|Lion|Muon)\("
)
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
class _LearningPace:
    """Pace of learning and of collecting in the steady phase."""

    optimizer_steps: float
    optimizers: int
    """That step in one update."""
    steps: float
    learners: frozenset[int]
    """Ids of the processes that update."""
    actors: frozenset[int]
    """Ids of those that step the environments."""
    own_steps: float
    """Steps made by learners."""

    @property
    def is_beside(self) -> bool:
        """True if learning goes on beside acting, in other processes."""
        return self.own_steps <= OWN_STEPS * self.steps

    @property
    def updates(self) -> float:
        return self.optimizer_steps / self.optimizers

    @property
    def updates_per_step(self) -> float:
        return self.updates / self.steps

    @property
    def usual(self) -> Range:
        """Updates per step of training like this."""
        return USUAL_OF_ONE if self.optimizers == 1 else USUAL_UPDATES


def detect(profile: Profile) -> Iterable[Finding]:
    pace = _pace(profile)
    if pace is None:
        return
    parameters = Parameters(profile.sources, profile.run.command)
    if pace.is_beside:
        if pace.updates_per_step >= MOST_BESIDE:
            yield _of_updates(profile, pace, parameters, *_beside(profile, pace.learners))
    elif pace.updates_per_step >= MOST_IN_TURNS and _is_by_accident(profile.sources.values()):
        yield _of_updates(profile, pace, parameters, *_in_turns(profile))
    capacity = parameters.named(*_CAPACITY_NAMES)
    if pace.is_beside and capacity is not None and pace.steps / pace.updates > capacity:
        yield _of_buffer(pace, capacity)


def _is_by_accident(texts: Iterable[str]) -> bool:
    """Tell whether new steps go into a buffer, and nothing says that they are to be trained on so often."""
    sources = list(texts)
    return any(_STORES.search(text) for text in sources) and not any(
        ON_PURPOSE.search(text) for text in sources
    )


def _pace(profile: Profile) -> _LearningPace | None:
    counts = profile.process_counts
    names = {name for named in counts.values() for name in named}
    told = {name for name in names if STEP_SOURCES.get(name) == profile.throughput.source}
    source = best_source((told or names) - {OUTPUT_STEPS})
    if source is None:
        return None
    steps = {process: named[source] for process, named in counts.items() if named.get(source)}
    updates = {process: named[UPDATES] for process, named in counts.items() if named.get(UPDATES)}
    if sum(steps.values()) < LEAST_STEPS or sum(updates.values()) < LEAST_STEPS:
        return None
    stepped = SteppedOptimizers(profile)
    if stepped.are_of_a_loop():
        return None  # Nobody knows how many step in one update.
    return _LearningPace(
        optimizer_steps=sum(updates.values()),
        optimizers=_optimizers(profile, stepped),
        steps=sum(steps.values()),
        learners=frozenset(updates),
        actors=frozenset(steps),
        own_steps=sum(steps.get(process, 0.0) for process in updates),
    )


def _optimizers(profile: Profile, stepped: SteppedOptimizers) -> int:
    made = sum(len(_OPTIMIZER.findall(text)) for text in profile.sources.values())
    # A function may make them all: what steps is seen.
    found = max(made, len(stepped.calls())) if made else OPTIMIZERS.high
    return round(min(OPTIMIZERS.high, found))


def _of_updates(
    profile: Profile,
    pace: _LearningPace,
    parameters: Parameters,
    nodes: frozenset[int],
    weights: Mapping[Line, float],
) -> Finding:
    ratio = pace.updates_per_step
    removable = Range(1 - pace.usual.high / ratio, 1 - pace.usual.low / ratio)
    held_up = _held_up(profile, pace, nodes)
    left = Range(1 - held_up * removable.high, 1 - held_up * removable.low)
    lines = UserLines.of(profile)
    wait = "Let the learner wait for new steps (while updates > steps: wait on a condition): "
    return Finding(
        title=f"the learner makes {ratio:.2g} updates for each new step",
        savings=()
        if held_up
        else tuple(working_time(profile.steady, nodes, profile.wait_kinds, removable)),
        locations=lines.locations(weights, profile.critical.wall_us),
        evidence=tuple(_evidence(profile, pace, parameters, nodes)),
        fix=(
            wait if pace.is_beside else "Train less often, if so many updates are not on purpose: "
        )
        + "one update for each new step as SAC does, or one in four as DQN.",
        confidence=Confidence.BOUNDED,
        remainder=Remainder(nodes, left) if held_up else None,
    )


def _held_up(profile: Profile, pace: _LearningPace, nodes: frozenset[int]) -> float:
    """Part of their time that actors wait for a learner that never rests and take its weights, on full
    cores: there its CPU time alone says too little. Elsewhere its work stands in for their waits already.
    """
    if not (profile.load.saturated and pace.is_beside):
        return 0.0
    loads = workloads(profile)
    if not any(load.waiting < RESTS for load in loads if load.process in pace.learners):
        return 0.0
    actors = [load for load in loads if load.main.is_critical]
    waiting = mean(actor.waiting for actor in actors)
    if waiting < MOSTLY_WAITS:
        return 0.0
    taking = mean(
        sum(cost.busy_us for node, cost in actor.main.tree.self_costs() if node in nodes)
        / actor.main.wall_us
        for actor in actors
    )
    return min(1.0, waiting + taking)


def _of_buffer(pace: _LearningPace, capacity: int) -> Finding:
    each = pace.steps / pace.updates
    return Finding(
        title=f"{count(each)} steps are collected for each update, into a buffer of {count(capacity)}",
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


_Claim = tuple[frozenset[int], Mapping[Line, float]]
"""Nodes, and their heaviest lines by critical time."""


def _in_turns(profile: Profile) -> _Claim:
    """Return what learning and drawing batches takes in the program's own turn."""
    names = profile.parts
    nodes = frozenset(
        node for node, _ in profile.steady.self_costs() if names[node] in (LEARNING, DATA)
    )
    own = {node: profile.steady.self_cost(node).wall_us for node in nodes}
    return nodes, _heaviest_lines(profile, own)


def _beside(profile: Profile, learners: frozenset[int]) -> _Claim:
    """Return what learners do and what takes their weights, waits left out; lines are those with the most CPU
    time. On the critical path it is where the CPUs are full, or where actors wait for the learner.
    """
    own: dict[int, int] = defaultdict(int)
    others: dict[int, int] = defaultdict(int)
    for activity in profile.activities:
        part = own if activity.process in learners else others
        for node, cost in activity.tree.self_costs():
            part[node] += cost.cpu_us
    nodes = frozenset(
        node for node, us in own.items() if us and us >= LEARNERS_OWN * (us + others.get(node, 0))
    )
    nodes |= find_publishing(profile).nodes
    return nodes, _heaviest_lines(profile, {node: own[node] for node in nodes if node in own})


def _heaviest_lines(profile: Profile, time_us: Mapping[int, int]) -> Mapping[Line, float]:
    """The user's lines with the most of ``time_us``, with their critical time."""
    lines = UserLines.of(profile)
    total: dict[Line, int] = defaultdict(int)
    critical: dict[Line, float] = defaultdict(float)
    for node, us in time_us.items():
        owner = lines.owner(node)
        line = lines.line(node if owner == NO_PARENT else owner)
        total[line] += us
        critical[line] += profile.steady.self_cost(node).wall_us
    heaviest = sorted(total, key=lambda line: (-total[line], line))[:SHOWN_LINES]
    return {line: critical[line] for line in heaviest}


def _evidence(
    profile: Profile, pace: _LearningPace, parameters: Parameters, nodes: frozenset[int]
) -> Iterable[str]:
    yield (
        f"{count(pace.optimizer_steps)} optimizer steps in {_processes(pace.learners)}, "
        f"{count(pace.steps)} steps in {_processes(pace.actors)}"
    )
    yield (
        f"with {pace.optimizers} optimizer{'s' if pace.optimizers > 1 else ''} "
        f"{pace.updates_per_step:.1f} updates a step, where {pace.usual.low:g} to "
        f"{pace.usual.high:g} are usual"
    )
    batch = parameters.named(*_BATCH_NAMES)
    if batch is not None:
        yield f"with batches of {batch}, each step is trained on {count(pace.updates_per_step * batch)} times"
    load = profile.load
    if not pace.is_beside:
        yield "learning and stepping take turns: each update holds up the next step"
    elif load.saturated:
        learning = sum(us for process, us in load.by_process if process in pace.learners)
        yield f"the CPUs are full, and {percent(learning / max(1, load.got_us))} of them learns"
    elif held_up := profile.steady.cost_of(nodes).wall_us:
        yield f"processes that step wait {percent(held_up / profile.critical.wall_us)} of their time for it"
    else:
        yield "the CPUs are not full, and nobody waits for it: the updates hold up no step"


def _processes(ids: frozenset[int]) -> str:
    return f"{len(ids)} process{'es' if len(ids) != 1 else ''}"


DETECTOR: Final = Detector(
    id="stale-training",
    name="far more updates than new steps, or a buffer too small for them",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.STEPS})),
)
