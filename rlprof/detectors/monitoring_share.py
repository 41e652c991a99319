"""Figures about the training that nothing in it depends on, and that take a good part of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import LineTime, SteadySearch
from rlprof.detectors.recognisers.outputs.evaluating import step_loops
from rlprof.detectors.recognisers.outputs.what_calls_do import CallJudge
from rlprof.model.counters import UPDATES
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.slices.headers import expressions_of
from rlprof.source.slices.model import DataFlow, DataPlace, FlowStep
from rlprof.source.slices.needed import dependent_steps, needed_steps
from rlprof.source.slices.reading import read_program
from rlprof.syntax.module import Loop, called_name, variables_assigned
from rlprof.syntax.nodes import calls_in, items_of
from rlprof.syntax.pure_calls import hardly_works, is_in_place

MIN_SHARE: Final = 0.05
"""Least share of the critical time: everybody looks how it goes."""

MOST_SHARE: Final = 0.9
"""Beyond that it is the training itself that is not read right."""

WORKING: Final = 0.5
"""Least part of the time of such a line that it works."""


class _Kind(NamedTuple):
    """A use of results, with what is told of it."""

    title: str
    evidence: str
    fix: str
    removable: Range
    confidence: Confidence


_FIGURES: Final = _Kind(
    "figures are computed that nothing learns from",
    "what it gives is shown, logged, saved or kept in lists that are; no action, no update and no environment depends on it",
    "Compute it a tenth as often, or at the updates whose figures are shown.",
    # A tenth as often, or less.
    Range(0.85, 1.0),
    Confidence.MEASURED,
)
_ENDS: Final = _Kind(
    "whether an update goes on is asked too often",
    "what it gives decides when the update ends, and is shown; nothing else reads it",
    "Ask once for each pass over the batch, or ask of the minibatch that was just computed.",
    # Once for each pass over a batch of four minibatches or more, by reason.
    Range(0.7, 1.0),
    Confidence.BOUNDED,
)


def detect(profile: Profile) -> Iterable[Finding]:
    search = _Search(profile)
    for kind, is_left_out in ((_FIGURES, _none), (_ENDS, _ends_an_update)):
        time = search.time(is_left_out)
        if time.is_worth(MIN_SHARE) and time.total_us <= MOST_SHARE * profile.critical.wall_us:
            yield _finding(time, kind)
            return


def _finding(time: LineTime, kind: _Kind) -> Finding:
    return Finding(
        title=f"{kind.title} ({time.place})",
        savings=(Saving(time.nodes, kind.removable),),
        locations=time.locations,
        evidence=(time.share_spent("there"), kind.evidence),
        fix=kind.fix,
        confidence=kind.confidence,
        is_general=True,
    )


def _none(_step: FlowStep) -> bool:
    return False


def _ends_an_update(step: FlowStep) -> bool:
    """Tell whether a statement leaves the loop of an update, for a condition of its own."""
    is_end = isinstance(step.node, ast.Break) or (
        isinstance(step.node, ast.Return) and step.node.value is None
    )
    return is_end and _is_conditional(step) and any(_updates(each.node) for each in _around(step))


class _Search(SteadySearch):
    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self._program = self._read()

    def _read(self) -> DataFlow | None:
        texts = self.profile.sources
        modules = self.lines.modules(
            file for file in texts if self.lines.is_yours(Frame(file, "", 0))
        )
        acting = {"step", "backward"}.union(*(step_loops(texts[file]).methods for file in modules))
        program = read_program(modules, CallJudge(modules, self.values), acting)
        return None if program.is_opaque or not self._learns(program, acting) else program

    def _learns(self, program: DataFlow, acting: Collection[str]) -> bool:
        """Tell whether what it does depends on its rewards, or optimizers step: a program that only plays does so for its figures."""
        if self.profile.counts.get(UPDATES):
            return True
        rewards = [reward for step in program.steps for reward in _rewards(step, acting)]
        return any(step.acts for step in dependent_steps(program, rewards))

    def time(self, is_left_out: Callable[[FlowStep], bool]) -> LineTime:
        """The time of what is not needed, less that of what it is needed for alone to which ``is_left_out`` applies."""
        time = LineTime(self.profile, self.lines)
        if self._program is None:
            return time
        needed = needed_steps(self._program, is_left_out)
        inside: set[int] = set()
        for node in self.tree.hot_nodes():
            parent = self.tree.nodes[node].parent
            if parent in inside:
                inside.add(node)
            elif self._is_needless(self._program, node, needed) and self._works(node):
                inside.add(node)
                time.add_calls(node, self.lines.line(node))
        return time

    def _is_needless(self, program: DataFlow, node: int, needed: Collection[FlowStep]) -> bool:
        frame = self.tree.frame(node)
        steps = program.at.get((frame.file, frame.line), ())
        return (
            bool(steps)
            and not any(step in needed or step.tells for step in steps)
            and any(_works_on_something(step, needed) for step in steps)
            and self.lines.is_yours(frame)
            and self.lines.is_repeated(node)
        )

    def _works(self, node: int) -> bool:
        """Tell whether it does not just wait, for whatever goes on without it."""
        cost = self.tree.total_cost(node)
        return cost.busy_us >= WORKING * cost.wall_us


def _is_conditional(step: FlowStep) -> bool:
    return step.around is not None and isinstance(step.around.node, ast.If)


def _around(step: FlowStep) -> Iterator[FlowStep]:
    around = step.around
    while around is not None:
        yield around
        around = around.around


def _updates(node: ast.stmt) -> bool:
    """Tell whether it is a loop each of whose turns makes gradients."""
    return isinstance(node, Loop) and any(
        called_name(call) == "backward" for call in calls_in(*node.body)
    )


def _rewards(step: FlowStep, acting: Collection[str]) -> Iterator[DataPlace]:
    """Yield the second of what a step of an environment gives, or all of it where that is not taken apart."""
    match step.node:
        case ast.Assign(targets=[target], value=ast.Call(func=ast.Attribute(attr=name))) if (
            name in acting
        ):
            parts = items_of(target)
            told = parts[1] if len(parts) > 2 else target
            names = variables_assigned(told)
            yield from (place for place in step.writes if place.name in names)


def _works_on_something(step: FlowStep, needed: Collection[FlowStep]) -> bool:
    """Tell whether a statement calls what computes, or is in a loop that nothing needs. Others only take numbers from where they are, and
    count or keep them: where that takes long it waits for a device.
    """
    calls = calls_in(*expressions_of(step.node))
    return any(
        not hardly_works(call) and not is_in_place(called_name(call)) for call in calls
    ) or any(isinstance(each.node, Loop) and each not in needed for each in _around(step))


DETECTOR: Final = Detector(
    id="monitoring-share",
    name="figures that nothing in the training depends on",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
