"""Evaluations between the updates that take a good part of the training."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.libraries.base import Duty
from rlprof.libraries.known import functions_of
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines, heaviest_line, last_name, short_place
from rlprof.syntax.module import PARSED_FILES, called_name, parse
from rlprof.syntax.steps import step_calls
from rlprof.units import percent

MIN_SHARE: Final = 0.05
"""Of the critical time: what everybody spends who looks how it goes."""

MOST_SHARE: Final = 0.95
"""Beyond that it is the training itself that is taken for an evaluation."""

REMOVABLE: Final = Range(0.8, 1.0)
"""Part that goes when a tenth as many are made (90 %), or hardly any."""

_KEEPS: Final = frozenset(
    {"append", "add", "push", "put", "store", "extend", "insert", "write", "record", "send", "remember"}
    | {"backward", "update", "learn", "train", "observe", "add_batch", "add_sample"}
)  # fmt: skip
"""Calls by which what an environment said is kept, or learned from."""

_duty: Final = functions_of(lambda library: library.duties)


class _Search:
    def __init__(self, profile: Profile) -> None:
        self.tree = profile.steady
        self.lines = UserLines(profile.steady, profile.sources, profile.started_package)
        self._sources = profile.sources
        self._moves = {"step", "backward"}.union(*map(_step_methods, profile.sources.values()))
        self.nodes: set[int] = set()
        self.weights: dict[Line, float] = defaultdict(float)
        self.steps_elsewhere = False
        """Whether environments are stepped, or networks trained, outside of them, too."""

    def run(self) -> None:
        for node in self.tree.hot_nodes():
            parent = self.tree.nodes[node].parent
            if parent in self.nodes:
                self.nodes.add(node)
            elif parent != NO_PARENT and self._is_evaluation(node):
                self.nodes.add(node)
                self.weights[self.lines.line(parent)] += self.tree.total_cost(node).wall_us
            elif last_name(self.tree.frame(node).function) in self._moves:
                self.steps_elsewhere = True

    def _is_evaluation(self, node: int) -> bool:
        """Whether ``node`` is the first frame of an evaluation that the user's code calls between steps."""
        parent = self.tree.nodes[node].parent
        frame, caller = self.tree.frame(node), self.tree.frame(parent)
        if not self.lines.is_yours(caller) or not self.lines.is_repeated(parent):
            return False
        if not self.lines.is_yours(frame):
            return _duty(frame) is Duty.EVALUATES
        if frame.function == caller.function:
            return False
        found = _evaluations(self._sources.get(frame.file, ""))
        stepped = _loops_with_steps(self._sources.get(caller.file, ""))
        # What is called at each step of the training is a part of how it acts: a search, a model.
        return any(first <= frame.line <= last for first, last in found) and not any(
            caller.line in loop for loop in stepped
        )


def detect(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    search = _Search(profile)
    search.run()
    total = sum(search.weights.values())
    if (
        not whole
        or not search.steps_elsewhere
        or not MIN_SHARE * whole <= total <= MOST_SHARE * whole
    ):
        return
    heaviest = heaviest_line(search.weights)
    yield Finding(
        title=f"evaluations take {percent(total / whole)} of the training ({short_place(heaviest)})",
        savings=(Saving(frozenset(search.nodes), REMOVABLE),),
        locations=search.lines.shown_locations(search.weights, whole),
        evidence=(
            f"{percent(total / whole)} of the steady time is spent there: environments are stepped, their rewards "
            "added up, and nothing is kept to learn from",
            *_conditions(search.lines, heaviest),
        ),
        fix="Evaluate a tenth as often, with fewer episodes, or in a process of its own beside the training; returns of "
        "the episodes that are trained on cost nothing.",
        confidence=Confidence.MEASURED,
    )


def _conditions(lines: UserLines, line: Line) -> Iterator[str]:
    statement = lines.statement(Frame(line.file, line.function, line.line))
    if statement is not None:
        conditions = [ast.unparse(test) for test in statement.conditions]
        yield (
            f"it is done when {' and '.join(conditions)}"
            if conditions
            else "nothing on the way there keeps it from being done each time"
        )


@lru_cache(maxsize=PARSED_FILES)
def _evaluations(text: str) -> tuple[tuple[int, int], ...]:
    """First and last lines of the functions that step environments in a loop and keep nothing of it but numbers."""
    module = parse(text)
    steps = _steps(text)
    found = []
    for function in module.functions if module and steps else ():
        own = list(_step_loops(function.node, steps))
        loops = [it for it in own if not _keeps(it)]
        calls = {called_name(it) for it in ast.walk(function.node) if isinstance(it, ast.Call)}
        if loops and not calls & {"backward", "zero_grad"} and len(loops) == len(own):
            found.append((function.first_line, function.last_line))
    return tuple(found)


@lru_cache(maxsize=PARSED_FILES)
def _loops_with_steps(text: str) -> tuple[range, ...]:
    """The lines of the loops that step an environment themselves, not in a loop inside of them."""
    module, steps = parse(text), _steps(text)
    return tuple(
        range(it.lineno, (it.end_lineno or it.lineno) + 1)
        for it in (_step_loops(module.tree, steps) if module and steps else ())
    )


@lru_cache(maxsize=PARSED_FILES)
def _steps(text: str) -> Mapping[ast.AST, str]:
    """The statements that step an environment, by ``….step(…)`` or by how what they give is used, with the method's name."""
    module = parse(text)
    if module is None:
        return {}
    starts = (0, *(function.first_line for function in module.functions))
    by_use = {
        line: call.method
        for start in starts
        for call in step_calls(module, start)
        for line in call.lines
    }
    return {
        statement.node: by_use.get(statement.first_line, "step")
        for statement in module.statements
        if _is_step(statement.node) or statement.first_line in by_use
    }


def _step_methods(text: str) -> set[str]:
    return set(_steps(text).values())


def _step_loops(tree: ast.AST, steps: Collection[ast.AST]) -> Iterator[ast.For | ast.While]:
    """Yield the innermost loops in which one of ``steps`` is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.While) and any(it in steps for it in _own(node)):
            yield node


def _own(loop: ast.For | ast.While) -> Iterator[ast.AST]:
    """Yield what is in a loop, and not in a loop or a function inside of it."""
    pending: list[ast.AST] = [*loop.body]
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.For | ast.While | ast.FunctionDef | ast.Lambda):
            yield node
            pending += ast.iter_child_nodes(node)


def _is_step(node: ast.AST) -> bool:
    """Whether an environment is stepped there: an optimizer's step takes nothing and gives nothing."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "step"
        and len(node.value.args) == 1
    )


def _keeps(loop: ast.For | ast.While) -> bool:
    """Whether a loop keeps more than names of its own: items of containers, attributes, or by a call that keeps."""
    for node in _own(loop):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.Call) and called_name(node) in _KEEPS:
            return True
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
    return False


DETECTOR: Final = Detector(
    id="evaluation-share",
    name="evaluations that take a good part of the training",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
