"""Evaluations between the updates that take a good part of the training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.detectors.recognisers.outputs.evaluating import (
    StepLoops,
    evaluates_as_called,
    step_loops,
)
from rlprof.detectors.recognisers.outputs.remembered import remembering_methods
from rlprof.detectors.recognisers.outputs.scores import (
    is_learned_from,
    is_returned,
    is_summed_up,
    is_trained_on,
)
from rlprof.libraries.base import Duty
from rlprof.libraries.known import LIBRARIES
from rlprof.libraries.questions import duty_of, is_framework
from rlprof.libraries.step_sources import BESIDE, OF_VECTORS, OWN_ENVS, STEP_SOURCES
from rlprof.model.calltree import handed_down
from rlprof.model.counters import EVALUATION_STEPS
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Interval, Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines, heaviest_line, last_name, short_place
from rlprof.syntax.live_statements import constants_given
from rlprof.syntax.module import called_name
from rlprof.syntax.origin import installed_package
from rlprof.units import count, percent

MIN_SHARE: Final = 0.05
"""Least share of the critical time: what everybody spends who looks how it goes."""

MOST_SHARE: Final = 0.95
"""Beyond that it is the training itself that is taken for an evaluation."""

NOTHING_ELSE: Final = 0.8
"""Part of its work that a process evaluates from which on it does nothing else: the rest is getting weights."""

LEAST_COUNTED: Final = 0.1
"""Part of the counted steps, from which on they are told beside the rate: as much as two runs of a program may differ by."""

REMOVABLE: Final = Range(0.8, 1.0)
"""Part that goes when a tenth as many are made (90 %), or hardly any."""

_LEAVES_OUT_VECTORS: Final = frozenset(STEP_SOURCES[name] for name in BESIDE)
"""Those that do not count the steps of evaluations in vector environments."""
_COUNTS_ALL: Final = frozenset(STEP_SOURCES[name] for name in OWN_ENVS)
"""Sources that count the steps of evaluations, too."""
_COUNTS_ITS_OWN: Final = frozenset(
    source.words
    for library in LIBRARIES
    if any(Duty.EVALUATES in duties.values() for duties in library.duties.values())
    for source in library.step_sources
)
"""Those that count the steps of evaluations which the same library makes, where the agent did not count them apart."""


class _Search(SteadySearch):
    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self._steps = {"step"}.union(
            *(step_loops(text).methods for text in profile.sources.values())
        )
        self._stepping: dict[int, bool] = {NO_PARENT: False}
        self._acting: dict[int, bool] = {NO_PARENT: False}
        self._evaluating: dict[int, bool] = {NO_PARENT: False}
        self._is_counted_apart = profile.counts.get(EVALUATION_STEPS, 0.0) > 0
        self._source = profile.throughput.source
        self.has_vectors_beside = self._source in _LEAVES_OUT_VECTORS and any(
            profile.counts.get(name) for name in OF_VECTORS
        )
        self.uncounted: set[int] = set()
        """Those of ``nodes`` whose steps are not in the counts."""
        self.nodes: set[int] = set()
        self.weights: dict[Line, float] = defaultdict(float)
        self.steps_elsewhere = False
        """True if environments are stepped, or networks trained, outside of them, too."""
        self._interval_us = profile.critical.sample_interval_us
        self._in_steps: dict[bool, list[int]] = {True: [], False: []}
        """Nodes of steps that are counted, by whether an evaluation makes them."""
        self._remembering = remembering_methods(self.lines.modules(profile.sources).values())
        self._remembered = set(self._places_remembered())

    def _places_remembered(self) -> Iterator[tuple[str, str, Frame | None]]:
        """Yield the functions whose steps are kept by what they call, each with the frame that called it there."""
        for node in self.tree.hot_nodes():
            if self._remembers(self.tree.frame(node)):
                for each in (node, *self.tree.ancestors(node)):
                    yield self._place_called(each)

    def _place_called(self, node: int) -> tuple[str, str, Frame | None]:
        parent, frame = self.tree.nodes[node].parent, self.tree.frame(node)
        return frame.file, frame.function, self.tree.frame(parent) if parent != NO_PARENT else None

    def _remembers(self, frame: Frame) -> bool:
        """Tell whether the line of ``frame`` keeps a step, as a wrapper for the learner, or hands its reward to an agent that does."""
        if not self.lines.is_yours(frame):
            return False
        read = self._read(frame)
        return any(frame.line in lines for lines in read.recording) or any(
            frame.line in handed.lines and (handed.method, handed.place) in self._remembering
            for handed in read.handing
        )

    def steps_share(self) -> Interval:
        """Part of the counted steps that evaluations make, by their time: at one time of the training a step takes as long as
        another. Nothing where none was seen.
        """
        whole_us = {node: cost.wall_us for node, cost in self.tree.self_costs()}
        whole = self._share_of_time(whole_us)
        if whole is None:
            return Interval(0.0, 0.0, 0.0)
        made = sum(quarter.steps for quarter in self.profile.quarters)
        told = [
            (quarter.steps, self._share_of_time(quarter.wall_us))
            for quarter in self.profile.quarters
        ]
        parts = (steps * (whole if part is None else part) for steps, part in told)
        share = min(1.0, sum(parts) / made) if made else whole
        seen_us = sum(whole_us.get(node, 0) for nodes in self._in_steps.values() for node in nodes)
        bounds = Range.of_share(share, max(1.0, seen_us / max(1, self._interval_us)))
        return Interval(share, bounds.low, bounds.high)

    def _share_of_time(self, wall_us: Mapping[int, int]) -> float | None:
        us = {
            of_evaluation: sum(wall_us.get(node, 0) for node in nodes)
            for of_evaluation, nodes in self._in_steps.items()
        }
        return us[True] / sum(us.values()) if any(us.values()) else None

    def run(self, left_out: frozenset[int] = frozenset()) -> None:
        for node in self.tree.hot_nodes():
            parent = self.tree.nodes[node].parent
            if node in left_out:
                continue
            if parent in self.nodes:
                self.nodes.add(node)
                if parent in self.uncounted:
                    self.uncounted.add(node)
            elif (place := self._place(node)) != NO_PARENT:
                self.nodes.add(node)
                if not self._counts(node):
                    self.uncounted.add(node)
                self.weights[self.lines.line(place)] += self.tree.total_cost(node).wall_us
            elif self._trains(node):
                self.steps_elsewhere = True
            if self._begins_step(node) and node not in self.uncounted:
                self._in_steps[node in self.nodes].extend(self.tree.subtree(node))

    def _counts(self, node: int) -> bool:
        """Tell whether the steps of the evaluation whose first frame ``node`` is are in the counts."""
        if duty_of(self.tree.frame(node)) is not Duty.EVALUATES:
            return self._source in _COUNTS_ALL and not self.has_vectors_beside
        return not self._is_counted_apart and self._source in _COUNTS_ALL | _COUNTS_ITS_OWN

    def _trains(self, node: int) -> bool:
        """Tell whether ``node`` steps an environment, or trains a network; not in a function that adds rewards up for others elsewhere."""
        frame = self.tree.frame(node)
        steps = self._is_step(frame) and not handed_down(
            self.tree.nodes, node, self._is_evaluating, self._evaluating
        )
        return steps or last_name(frame.function) == "backward"

    def _is_evaluating(self, frame: Frame, above: bool) -> bool:
        return above or any(frame.line in lines for lines in self._read(frame).evaluating)

    def _is_step(self, frame: Frame) -> bool:
        return last_name(frame.function) in self._steps

    def _begins_step(self, node: int) -> bool:
        """Tell whether ``node`` is the outermost frame of a step: wrappers step what they wrap. Optimizers step, too."""
        parent, frame = self.tree.nodes[node].parent, self.tree.frame(node)
        is_of_env = self._is_step(frame) and not is_framework(installed_package(frame.file))
        return is_of_env and not handed_down(
            self.tree.nodes,
            parent,
            lambda frame, above: above or self._is_step(frame),
            self._stepping,
        )

    def _place(self, node: int) -> int:
        """Return where the user's code makes the evaluation whose first frame ``node`` is; else ``NO_PARENT``."""
        is_remembered = self._place_called(node) in self._remembered
        if self._is_between(node) and not is_remembered:
            return node
        parent = self.tree.nodes[node].parent
        if parent == NO_PARENT:
            return NO_PARENT
        duty = duty_of(self.tree.frame(node))
        if duty is Duty.EVALUATES:
            # A callback of the library may ask for it.
            return self.lines.owner(parent) if self.lines.is_repeated(parent) else NO_PARENT
        is_one = not is_remembered and (
            self._is_called(node, parent)
            or (duty is Duty.PLAYS_EPISODES and self._is_summed_up(parent))
            or (self._is_played(node, parent) and self._is_summed_up(parent))
        )
        return parent if is_one else NO_PARENT

    def _is_summed_up(self, node: int) -> bool:
        """Tell whether the user's line at ``node`` keeps nothing but numbers of what it is given."""
        frame = self.tree.frame(node)
        module = self.lines.module(frame.file)
        statement = self.lines.statement(frame)
        return (
            module is not None
            and statement is not None
            and self.lines.is_yours(frame)
            and self.lines.is_repeated(node)
            and is_summed_up(statement, module)
        )

    def _is_between(self, node: int) -> bool:
        """Tell whether ``node`` is in a loop that evaluates, between the loops of a training."""
        frame, parent = self.tree.frame(node), self.tree.nodes[node].parent
        return (
            self.lines.is_yours(frame)
            and any(frame.line in lines for lines in self._read(frame).evaluating_between)
            and not self._acts(parent)
            and not (parent != NO_PARENT and self._is_learned_from(self.tree.frame(parent)))
        )

    def _is_called(self, node: int, parent: int) -> bool:
        """Tell whether ``node`` is in a function that evaluates, called by the user's code at ``parent``."""
        frame, caller = self.tree.frame(node), self.tree.frame(parent)
        if not self.lines.is_yours(caller) or not self.lines.is_repeated(parent):
            return False
        if not self.lines.is_yours(frame) or frame.function == caller.function:
            return False
        # What the next action comes from is a part of how it acts: a search, a model.
        return (
            (self._is_evaluating(frame, above=False) or self._evaluates_as_called(frame, caller))
            and not self._acts(parent)
            and not self._is_learned_from(caller)
        )

    def _is_played(self, node: int, parent: int) -> bool:
        """Tell whether ``node`` is in a function that plays episodes for who calls it, and nothing is trained on the one that is played here."""
        frame = self.tree.frame(node)
        if not any(frame.line in lines for lines in self._read(frame).playing):
            return False
        level = parent
        while level != NO_PARENT and self.lines.is_yours(self.tree.frame(level)):
            caller = self.tree.frame(level)
            module, statement = self.lines.module(caller.file), self.lines.statement(caller)
            if module is None or statement is None or is_trained_on(statement, module):
                return False
            if self._is_learned_from(caller):
                return False
            if not is_returned(statement, module):
                return not self._acts(parent)
            level = self.tree.nodes[level].parent
        return False

    def _evaluates_as_called(self, frame: Frame, caller: Frame) -> bool:
        """Tell whether one function trains and evaluates, and does the latter as it is called at ``caller``."""
        module, calling = self.lines.module(frame.file), self.lines.module(caller.file)
        function = module.function_at(frame.line) if module is not None else None
        statement = self.lines.statement(caller)
        if module is None or calling is None or function is None or statement is None:
            return False
        calls = [call for call in statement.calls() if called_name(call) == function.node.name]
        return len(calls) == 1 and evaluates_as_called(
            module, function, constants_given(calling, calls[0], function)
        )

    def _is_learned_from(self, caller: Frame) -> bool:
        """Tell whether the returns are what the training goes by, as in evolution strategies."""
        module, statement = self.lines.module(caller.file), self.lines.statement(caller)
        return module is not None and statement is not None and is_learned_from(statement, module)

    def _acts(self, node: int) -> bool:
        """Tell whether an action of the training comes from what ``node`` or one of its callers does."""
        return handed_down(self.tree.nodes, node, self._is_acting, self._acting)

    def _is_acting(self, frame: Frame, above: bool) -> bool:
        return above or any(frame.line in lines for lines in self._read(frame).acting)

    def _read(self, frame: Frame) -> StepLoops:
        return step_loops(self.profile.sources.get(frame.file, ""))


def detect(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    search = _Search(profile)
    search.run()
    if apart := _beside_the_training(profile, search.nodes):
        search = _Search(profile)
        search.run(left_out=apart)
    total = sum(search.weights.values())
    if not total or not search.steps_elsewhere or total > MOST_SHARE * whole:
        return
    steps_share = search.steps_share()
    is_dear = total >= MIN_SHARE * whole
    # Offline, the few steps of its evaluations are all that there are.
    if not is_dear and steps_share.median < LEAST_COUNTED:
        return
    heaviest = heaviest_line(search.weights)
    part = (
        f"take {percent(total / whole)} of the training"
        if is_dear
        else f"make {percent(steps_share.median)} of the counted steps"
    )
    yield Finding(
        title=f"evaluations {part} ({short_place(heaviest)})",
        savings=(Saving(frozenset(search.nodes), REMOVABLE),) if is_dear else (),
        locations=search.lines.shown_locations(search.weights, whole),
        evidence=(
            f"{percent(total / whole)} of the steady time is spent there: environments are stepped, their rewards "
            "added up, and nothing is kept to learn from",
            *_conditions(search.lines, heaviest),
            *_counted_too(profile, search, steps_share),
        ),
        fix="Evaluate a tenth as often, with fewer episodes, or in a process of its own beside the training; returns of "
        "the episodes that are trained on cost nothing.",
        confidence=Confidence.MEASURED,
        # With fewer evaluations fewer steps are counted, too.
        tells_rate=steps_share.median < MIN_SHARE,
        counted_share=steps_share if steps_share.median >= LEAST_COUNTED else None,
    )


def _beside_the_training(profile: Profile, evaluating: Collection[int]) -> frozenset[int]:
    """Return the nodes of processes that do nothing but evaluate, and that no training waits for."""
    waited_us = _waited_for(profile)
    apart: set[int] = set()
    of_others: set[int] = set()
    for worker in profile.activities:
        busy_us = {node: cost.busy_us for node, cost in worker.tree.self_costs()}
        own_us = sum(us for node, us in busy_us.items() if node in evaluating)
        does_nothing_else = own_us >= NOTHING_ELSE * sum(busy_us.values()) > 0
        is_waited_for = waited_us[worker.process] >= MIN_SHARE * profile.critical.wall_us
        is_apart = worker.is_main and does_nothing_else and not is_waited_for
        (apart if is_apart else of_others).update(worker.tree.hot_nodes())
    return frozenset(apart - of_others)


def _waited_for(profile: Profile) -> Mapping[int, float]:
    """Return how long critical threads waited for each process. Where another one worked more meanwhile, only what it worked more than at any
    time counts: who waits for a manager waits for no evaluation that runs beside.
    """
    busy_us: dict[int, float] = defaultdict(float)
    for worker in profile.activities:
        busy_us[worker.process] += worker.working_us
    found: dict[int, float] = defaultdict(float)
    for wait in profile.waits:
        for process, part in wait.on if wait.thread in profile.critical.threads else ():
            is_heaviest = process == wait.on[0][0]
            usual = 0.0 if is_heaviest else busy_us[process] / max(1, profile.steady_us)
            found[process] += max(0.0, part - usual) * wait.wall_us
    return found


def _counted_too(profile: Profile, search: _Search, share: Interval) -> Iterator[str]:
    """Return how many of the counted steps are those of its evaluations, and the training's own rate where there is one to
    tell; or that they are not counted.
    """
    rate = profile.throughput.rate_to_price
    is_apart = search.has_vectors_beside or profile.counts.get(EVALUATION_STEPS)
    if is_apart and search.uncounted == search.nodes:
        yield "their steps are not counted: the rate is that of the training's own"
    if share.median >= MIN_SHARE:
        own = (
            "the rate is not that of the training's own"
            if rate is None or share.median >= MOST_SHARE
            else f"the training's own are some {count(rate * (1 - share.median))} sps"
        )
        yield (
            f"about {percent(share.median)} of the counted steps are made there ({100 * share.low:.0f} to "
            f"{percent(share.high)}): {own}, and what is counted after a change is no rate to compare"
        )


def _conditions(lines: UserLines, line: Line) -> Iterator[str]:
    statement = lines.statement(line)
    # What a library's callback does is done as often as it was told elsewhere.
    if statement is not None and statement.in_loop:
        yield (
            f"it is done when {statement.condition}"
            if statement.conditions
            else f"no condition in {last_name(line.function)} keeps it from being done each time"
        )


DETECTOR: Final = Detector(
    id="evaluation-share",
    name="evaluations that take a good part of the training",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
