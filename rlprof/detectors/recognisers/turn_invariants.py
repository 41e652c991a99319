"""Calls whose result is the same in every turn of a loop: they only compute, and no turn changes what they depend on."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines, last_name
from rlprof.source.parameters import Parameters
from rlprof.source.values import Values, value_of
from rlprof.syntax.module import Comprehension, SourceModule, called_name, variables_read
from rlprof.syntax.pure import Pure, pure_at

_PLAIN: Final = frozenset({"append", "float", "int", "len", "range", "enumerate", "zip", "list"})
"""Calls that a loop may make besides."""


@dataclass(slots=True)
class Invariant:
    """A method that is called in every turn with the same object, and nothing else."""

    pure: Pure
    nodes: set[int] = field(default_factory=set)
    """Its calls."""
    weights: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    """µs by the line of the loop."""
    between: set[str] = field(default_factory=set)
    """Methods that a turn calls, and that call it."""
    turns: set[int | None] = field(default_factory=set)
    """Number of turns of each loop; None where nobody knows."""


class _Read(NamedTuple):
    pure: Pure
    calling: Pure
    """The method that calls it in each turn, which only computes, too."""
    turns: int | None


class TurnInvariants:
    """Finds them in the steady phase."""

    def __init__(
        self, profile: Profile, lines: UserLines, does_more: Callable[[int, Pure], bool]
    ) -> None:
        """``does_more``: whether something that was not read was seen below the node of a pure function."""
        self._tree = profile.steady
        self._lines = lines
        self._does_more = does_more
        self._values = Values(profile.values)
        self._parameters = Parameters(profile.sources, profile.run.command)
        self._known: dict[tuple[Frame, Frame, Frame], _Read | None] = {}

    def found(self) -> Iterable[Invariant]:
        found: dict[tuple[str, str], Invariant] = {}
        for node in self._tree.hot_nodes():
            called_by = self._tree.nodes[node].parent
            turn = self._tree.nodes[called_by].parent if called_by != NO_PARENT else NO_PARENT
            if turn == NO_PARENT:
                continue
            frames = tuple(map(self._tree.frame, (node, called_by, turn)))
            told = self._of(*frames) if all(map(self._lines.is_yours, frames)) else None
            if told is None or self._does_more(called_by, told.calling):
                continue
            one = found.setdefault((frames[0].file, told.pure.function), Invariant(told.pure))
            one.nodes.add(node)
            one.weights[self._lines.line(turn)] += self._tree.total_cost(node).wall_us
            one.between.add(last_name(frames[1].function))
            one.turns.add(told.turns)
        return found.values()

    def _of(self, own: Frame, between: Frame, turn: Frame) -> _Read | None:
        key = (own, between, turn)
        if key not in self._known:
            self._known[key] = self._read(own, between, turn)
        return self._known[key]

    def _read(self, own: Frame, between: Frame, turn: Frame) -> _Read | None:
        if own.file != between.file:
            return None
        module, around = self._lines.module(own.file), self._lines.module(turn.file)
        pure = _method(module, own)
        calling = _method(module, between)
        if module is None or around is None or pure is None or calling is None:
            return None
        if not pure.inputs or not all(operand.text.startswith("self.") for operand in pure.inputs):
            return None
        if not _is_called_by_itself(module, between.line, last_name(pure.function)):
            return None
        name = last_name(calling.function)
        loop = next((each for each in _loops(around, turn.line) if _turns_call(each, name)), None)
        return None if loop is None else _Read(pure, calling, self._turns(loop, turn))

    def _turns(self, loop: ast.For | Comprehension, turn: Frame) -> int | None:
        through = loop.iter if isinstance(loop, ast.For) else loop.generators[0].iter
        match through:
            case ast.Call(func=ast.Name(id="range"), args=[number]):
                return self._parameters.value(number)
        seen = value_of(through, self._values.between(turn.file, range(turn.line, turn.line + 1)))
        return seen.length if seen is not None else None


def _method(module: SourceModule | None, frame: Frame) -> Pure | None:
    """The pure method that ``frame`` is in."""
    found = pure_at(module, frame) if module is not None else ()
    function = module.function_at(frame.line) if module is not None else None
    if function is None or not function.class_name:
        return None
    return next((pure for pure in found if pure.function), None)


def _is_called_by_itself(module: SourceModule, line: int, name: str) -> bool:
    """Tell whether a line calls the method ``name`` of its own object, and gives it nothing."""
    return any(
        isinstance(node.func, ast.Attribute)
        and node.func.attr == name
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "self"
        and not node.args
        and not node.keywords
        for statement in module.statements_at(line)
        for node in statement.walk()
        if isinstance(node, ast.Call)
    )


def _loops(module: SourceModule, line: int) -> Iterator[ast.For | Comprehension]:
    """Yield the comprehensions on a line and the loops around it, the innermost first."""
    for statement in module.statements_at(line):
        for node in statement.walk():
            if isinstance(node, Comprehension):
                yield node
    for loop in reversed(tuple(module.loops_around(line))):
        if isinstance(loop, ast.For):
            yield loop


def _turns_call(loop: ast.For | Comprehension, name: str) -> bool:
    """Tell whether each turn calls the method ``name`` of one and the same object, and does nothing that could change it."""
    body = loop.body if isinstance(loop, ast.For) else [loop]
    nodes = [node for part in body for node in ast.walk(part)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    if any(called_name(call) not in _PLAIN | {name} for call in calls):
        return False
    if any(map(_writes_to_an_object, nodes)):
        return False
    target = loop.target if isinstance(loop, ast.For) else loop.generators[0].target
    changing = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    return any(
        called_name(call) == name
        and isinstance(call.func, ast.Attribute)
        and changing.isdisjoint(variables_read(call.func.value))
        and not changing.isdisjoint(variables_read(*call.args))
        for call in calls
    )


def _writes_to_an_object(node: ast.AST) -> bool:
    """Tell whether an attribute is written, or an item of what one holds: ``views[i] = ...`` of a variable is none."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return not isinstance(node.value, ast.Name)
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)
