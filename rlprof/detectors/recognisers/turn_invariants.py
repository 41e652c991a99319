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
from rlprof.source.values import Value, Values, value_of
from rlprof.syntax.bound_inputs import at_entry, bound_inputs
from rlprof.syntax.module import Comprehension, Function, SourceModule
from rlprof.syntax.operands import Operand
from rlprof.syntax.pure import Pure, pure_at
from rlprof.syntax.turn_changes import TurnChanges, Turned

_MOST_BETWEEN: Final = 3
"""Functions between the loop and the one whose result stays the same."""

_IN_COMPREHENSIONS: Final = ("<listcomp>", "<genexpr>", "<setcomp>", "<dictcomp>")
_WEIGHTS: Final = ("Parameter", "torch.nn.parameter.Parameter")


@dataclass(slots=True)
class Invariant:
    """A function that is called in every turn, for what no turn changes."""

    pure: Pure
    nodes: set[int] = field(default_factory=set)
    """Its calls."""
    weights: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    """µs by the line in the loop."""
    between: set[str] = field(default_factory=set)
    """Functions that a turn calls, and that call it."""
    inputs: set[str] = field(default_factory=set)
    """What it depends on, as it is written in the loop."""
    turns: set[int | None] = field(default_factory=set)
    """Number of turns of each loop; None where nobody knows."""


class _Read(NamedTuple):
    """A function, and the loop that calls it for the same again and again."""

    pure: Pure
    above: int
    """Frames from its own to that of the loop."""
    between: tuple[str, ...]
    inputs: tuple[str, ...]
    turns: int | None
    is_outermost: bool
    """True if no other loop of its function is around that one."""


class TurnInvariants:
    """Finds them in the steady phase."""

    def __init__(
        self, profile: Profile, lines: UserLines, is_as_read: Callable[[int, Pure], bool]
    ) -> None:
        """``is_as_read``: whether what runs below the node of a pure function is what the source says."""
        self._tree = profile.steady
        self._lines = lines
        self._is_as_read = is_as_read
        self._values = Values(profile.values)
        self._parameters = Parameters(profile.sources, profile.run.command)
        yours = (file for file in profile.sources if lines.is_yours(Frame(file, "", 0)))
        modules = map(lines.module, yours)
        self._changes = TurnChanges([module for module in modules if module is not None])
        self._known: dict[tuple[Frame, ...], _Read | None] = {}

    def found(self) -> Iterable[Invariant]:
        found: dict[tuple[str, str], Invariant] = {}
        inside: set[int] = set()
        for node in [] if self._changes.others_may_write else self._tree.hot_nodes():
            if self._tree.nodes[node].parent in inside:
                inside.add(node)
                continue
            stack = self._stack(node)
            told = self._of(tuple(self._tree.frame(it) for it in stack))
            if told is None or not self._is_as_read(node, told.pure):
                continue
            if self._is_refuted(stack[0], stack[told.above], told):
                continue
            inside.add(node)
            own, turn = self._tree.frame(node), self._lines.line(stack[told.above])
            one = found.setdefault((own.file, told.pure.function), Invariant(told.pure))
            one.nodes.add(node)
            one.weights[turn] += self._tree.total_cost(node).wall_us
            one.between.update(told.between)
            one.inputs.update(told.inputs)
            one.turns.add(told.turns)
        return found.values()

    def _is_refuted(self, own: int, turn: int, told: _Read) -> bool:
        """Tell whether inputs were seen to change, though the loop has no other around it that could have changed them."""
        frame, above = self._tree.frame(own), self._tree.nodes[turn].parent
        if not told.is_outermost or (above != NO_PARENT and self._lines.is_repeated(above)):
            return False
        known = self._values.between(frame.file, told.pure.lines, frame.function)
        return any(it.text in known and known[it.text].changed for it in told.pure.inputs)

    def _stack(self, node: int) -> list[int]:
        """Return the node and those above it, as far as they are of the user's files."""
        found: list[int] = []
        while node != NO_PARENT and len(found) < 2 * _MOST_BETWEEN + 2:
            if not self._lines.is_yours(self._tree.frame(node)):
                break
            found.append(node)
            node = self._tree.nodes[node].parent
        return found

    def _of(self, frames: tuple[Frame, ...]) -> _Read | None:
        if frames not in self._known:
            self._known[frames] = self._read(frames)
        return self._known[frames]

    def _read(self, frames: tuple[Frame, ...]) -> _Read | None:
        pure, function = self._pure_function(frames)
        if pure is None or function is None or self._is_of_weights(frames[0], pure):
            return None
        inputs: tuple[Operand, ...] | None = pure.inputs
        attributes = self._changes.attributes_read(function)
        between: list[str] = []
        for above, frame in enumerate(frames[1:], 1):
            module = self._lines.module(frame.file)
            if module is None or not inputs or len(between) > _MOST_BETWEEN:
                return None
            around = module.function_at(frame.line)
            if not _continues(frames[above - 1]):
                inputs = bound_inputs(module, frame.line, function, inputs)
                if inputs is None:
                    return None
            loop = self._loop(module, frame, inputs, attributes)
            if loop is not None:
                turns = self._turns(loop, frame)
                if turns == 1:
                    return None
                texts = tuple(operand.text for operand in inputs)
                statement = module.statement_at(loop.lineno)
                alone = statement is None or not statement.in_loop
                return _Read(pure, above, tuple(between), texts, turns, alone)
            if around is None:
                return None
            if not _continues(frame):
                inputs = at_entry(module, around, inputs)
                between.append(last_name(around.qualname))
                function = around
        return None

    def _pure_function(self, frames: tuple[Frame, ...]) -> tuple[Pure | None, Function | None]:
        module = self._lines.module(frames[0].file) if frames else None
        if module is None:
            return None, None
        found = (pure for pure in pure_at(module, frames[0]) if pure.function and pure.inputs)
        return next(found, None), module.function_at(frames[0].line)

    def _is_of_weights(self, own: Frame, pure: Pure) -> bool:
        """Tell whether one of its inputs was seen to be what an optimizer changes."""
        known = self._values.between(own.file, pure.lines, own.function)
        seen = [known[it.text] for it in pure.inputs if it.text in known]
        return any(value.is_network or value.type in _WEIGHTS for value in seen)

    def _loop(
        self,
        module: SourceModule,
        frame: Frame,
        inputs: tuple[Operand, ...],
        attributes: frozenset[str],
    ) -> Turned | None:
        """Return the outermost loop around the line of ``frame`` of which no turn changes ``inputs``."""
        found: Turned | None = None
        for loop in _loops(module, frame.line):
            if _depends_on_a_condition(module, frame.line, loop):
                break
            if not self._changes.leaves(module, loop, inputs, attributes):
                break
            found = loop
        return found

    def _turns(self, loop: Turned, turn: Frame) -> int | None:
        through = loop.iter if isinstance(loop, ast.For) else loop.generators[0].iter
        match through:
            case ast.Call(func=ast.Name(id="range"), args=[number]):
                return self._parameters.value(number)
        seen: Value | None = value_of(
            through, self._values.between(turn.file, range(turn.line, turn.line + 1))
        )
        return seen.length if seen is not None else None


def _continues(frame: Frame) -> bool:
    """Tell whether it is a comprehension, whose variables are those of the function around it."""
    return last_name(frame.function) in _IN_COMPREHENSIONS


def _loops(module: SourceModule, line: int) -> Iterator[Turned]:
    """Yield the comprehensions on a line and the loops around it, the innermost first."""
    for statement in module.statements_at(line):
        for node in statement.walk():
            if isinstance(node, Comprehension):
                yield node
    for loop in reversed(tuple(module.loops_around(line))):
        if isinstance(loop, ast.For):
            yield loop


def _depends_on_a_condition(module: SourceModule, line: int, loop: Turned) -> bool:
    """Tell whether not each turn comes to ``line``."""
    return any(
        condition.lineno > loop.lineno
        for statement in module.statements_at(line)
        for condition in statement.conditions
    )
