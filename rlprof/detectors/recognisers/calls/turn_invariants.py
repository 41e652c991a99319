"""Calls whose result is the same in every turn of a loop: they only compute, and no turn changes what they depend on."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines, last_name
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.ancestors import Around, Turned, around
from rlprof.syntax.bound_inputs import BoundCall, at_entry, bound_inputs
from rlprof.syntax.dependencies import is_called_as_written
from rlprof.syntax.module import Function, SourceModule
from rlprof.syntax.operands import Operand
from rlprof.syntax.pure import Pure, attributes_given, fitted_at, pure_at
from rlprof.syntax.turn_changes import Changes, TurnChanges
from rlprof.syntax.writes import is_changed

_MOST_BETWEEN: Final = 3
"""Functions between the loop and the one whose result stays the same."""

_IN_COMPREHENSIONS: Final = ("<listcomp>", "<genexpr>", "<setcomp>", "<dictcomp>")
_WEIGHTS: Final = ("Parameter", "torch.nn.parameter.Parameter")


class TurnCount(NamedTuple):
    """The number of times that a loop, or loops in each other, call what is the same in each turn."""

    least: int
    is_exact: bool
    """False if there may be more: nobody knows the number of one of the loops."""


_UNKNOWN: Final = TurnCount(1, False)


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
    turns: set[TurnCount] = field(default_factory=set)
    """Of each place that calls it."""


class _Read(NamedTuple):
    """A function, and the loop that calls it for the same again and again."""

    pure: Pure
    above: int
    """Frames from its own to that of the loop."""
    between: tuple[str, ...]
    inputs: tuple[str, ...]
    turns: TurnCount
    is_outermost: bool
    """True if no other loop of its function is around that one."""


class _SameForAll(NamedTuple):
    loops: tuple[Turned, ...]
    """The innermost first."""
    trains: bool
    """True if their turns move parameters of networks."""


class TurnInvariants(SteadySearch):
    """Finds them in the steady phase."""

    def __init__(
        self, profile: Profile, lines: UserLines, is_as_read: Callable[[int, Pure], bool]
    ) -> None:
        """``is_as_read``: whether what runs below the node of a pure function is what the source says."""
        super().__init__(profile, lines)
        self._is_as_read = is_as_read
        yours = (file for file in profile.sources if lines.is_yours(Frame(file, "", 0)))
        read = lines.modules(yours)
        self.changes = TurnChanges([*read.values()])
        self._callable = frozenset(
            text.rpartition(".")[2]
            for file in profile.sources
            for text, value in self.values.within(file).items()
            if value.is_network or (value.file in read and not value.function and not value.made)
        )
        """Names of the variables and attributes that hold networks, or objects of classes that are read, and with them how they are called."""
        self._known: dict[tuple[Frame, ...], _Read | None] = {}

    def found(self) -> Collection[Invariant]:
        found: dict[tuple[str, str], Invariant] = {}
        inside: set[int] = set()
        for node in [] if self.changes.others_may_write else self.tree.hot_nodes():
            if self.tree.nodes[node].parent in inside:
                inside.add(node)
                continue
            stack = self._stack(node)
            told = self._of(tuple(self.tree.frame(level) for level in stack))
            if told is None or not self._is_as_read(node, told.pure):
                continue
            if self._is_refuted(stack[0], stack[told.above], told):
                continue
            inside.add(node)
            own, turn = self.tree.frame(node), self.lines.line(stack[told.above])
            one = found.setdefault((own.file, told.pure.function), Invariant(told.pure))
            one.nodes.add(node)
            one.weights[turn] += self.tree.total_cost(node).wall_us
            one.between.update(told.between)
            one.inputs.update(told.inputs)
            one.turns.add(told.turns)
        return found.values()

    def _is_refuted(self, own: int, turn: int, told: _Read) -> bool:
        """Tell whether inputs were seen to change, though the loop has no other around it that could have changed them."""
        frame, above = self.tree.frame(own), self.tree.nodes[turn].parent
        if not told.is_outermost or (above != NO_PARENT and self.lines.is_repeated(above)):
            return False
        known = self.values.between(frame.file, told.pure.lines, frame.function)
        return any(
            operand.text in known and known[operand.text].changed for operand in told.pure.inputs
        )

    def _stack(self, node: int) -> list[int]:
        """Return the node and those above it, as far as they are of the user's files."""
        found: list[int] = []
        while node != NO_PARENT and len(found) < 2 * _MOST_BETWEEN + 2:
            if not self.lines.is_yours(self.tree.frame(node)):
                break
            found.append(node)
            node = self.tree.nodes[node].parent
        return found

    def _of(self, frames: tuple[Frame, ...]) -> _Read | None:
        if frames not in self._known:
            self._known[frames] = self._read(frames)
        return self._known[frames]

    def _read(self, frames: tuple[Frame, ...]) -> _Read | None:
        pure, function = self._pure_function(frames)
        if pure is None or function is None:
            return None
        attributes = self.changes.attributes_read(function)
        if not self.changes.are_kept(attributes):
            return None
        inputs: tuple[Operand, ...] | None = pure.inputs
        between: list[str] = []
        called: set[str] = set()
        for above, frame in enumerate(frames[1:], 1):
            module = self.lines.module(frame.file)
            if module is None or not inputs or len(between) > _MOST_BETWEEN:
                return None
            outer = module.function_at(frame.line)
            if not _is_in_comprehension(frames[above - 1]):
                call = bound_inputs(module, frame.line, function, inputs)
                if call is None or _is_written_to(module, call):
                    return None
                inputs = call.inputs
                called.add(call.name)
                loops = around(module, call.statement, call.node)
                found = self._same_for_all(module, loops, call, attributes, called)
                if found is not None:
                    turns = self._turns(found.loops, frame)
                    if turns == (1, True) or (
                        found.trains and not self._are_plain(frames[0], pure)
                    ):
                        return None
                    texts = tuple(operand.text for operand in inputs)
                    alone = found.loops[-1] is loops.loops[-1] and not loops.is_conditional
                    return _Read(pure, above, tuple(between), texts, turns, alone)
                if loops.is_conditional:
                    return None
            if outer is None or not is_called_as_written(outer.node):
                return None
            if not _is_in_comprehension(frame):
                inputs = at_entry(module, outer, inputs)
                between.append(last_name(outer.qualname))
                function = outer
        return None

    def _pure_function(self, frames: tuple[Frame, ...]) -> tuple[Pure | None, Function | None]:
        module = self.lines.module(frames[0].file) if frames else None
        if module is None:
            return None, None
        found = (pure for pure in pure_at(module, frames[0]) if pure.function and pure.inputs)
        function = module.function_at(frames[0].line)
        pure = next(found, None)
        if pure is None and function is not None:
            written = attributes_given(function.node)
            is_fitted_here = self.changes.are_given_by_one(written, function)
            pure = fitted_at(module, frames[0].line) if is_fitted_here else None
        return pure, function

    def _are_plain(self, own: Frame, pure: Pure) -> bool:
        """Tell whether all inputs are numbers, arrays or tensors that no optimizer moves, as far as they were seen or numpy makes them."""
        known = self.values.between(own.file, pure.lines, own.function)
        seen = {operand: known.get(operand.text) for operand in pure.inputs}
        return all(
            self.changes.is_numpys(operand.steps[-1].removeprefix("."))
            if value is None
            else value.is_plain or (value.is_array and value.type not in _WEIGHTS)
            for operand, value in seen.items()
        )

    def _same_for_all(
        self,
        module: SourceModule,
        loops: Around,
        call: BoundCall,
        attributes: frozenset[str],
        called: Collection[str],
    ) -> _SameForAll | None:
        """Return the loops around a call of which no turn changes what it is given."""
        found: _SameForAll | None = None
        for loop in loops.loops:
            known = {*called, *self._callable}
            changes = self.changes.leaves(module, loop, call.inputs, attributes, known)
            if changes is Changes.MORE:
                break
            inner = () if found is None else found.loops
            found = _SameForAll((*inner, loop), trains=changes is Changes.PARAMETERS)
        return found

    def _turns(self, loops: Iterable[Turned], turn: Frame) -> TurnCount:
        through = [each for loop in loops for each in _gone_through(loop)]
        counts = [self._count(each, turn) for each in through]
        least = prod(count.least for count in counts)
        return TurnCount(least, is_exact=all(count.is_exact for count in counts))

    def _count(self, through: ast.expr | None, turn: Frame) -> TurnCount:
        """Return the number of turns of a loop that goes ``through`` something, as far as it is known."""
        match through:
            case None:
                return _UNKNOWN
            case ast.Call(func=ast.Name(id="range"), args=[_, *_] as parts):
                is_zero = [isinstance(part, ast.Constant) and part.value == 0 for part in parts]
                numbers = [
                    0 if zero else self.parameters.value(part)
                    for zero, part in zip(is_zero, parts, strict=True)
                ]
                known = [number for number in numbers if number is not None]
                is_known = len(known) == len(numbers) and 0 not in known[2:]
                return TurnCount(len(range(*known)), True) if is_known else _UNKNOWN
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                is_known = not any(isinstance(part, ast.Starred) for part in parts)
                return TurnCount(len(parts), True) if is_known else _UNKNOWN
        seen: Value | None = value_of(
            through, self.values.between(turn.file, range(turn.line, turn.line + 1))
        )
        if seen is None or seen.length is None:
            return _UNKNOWN
        lengths = {seen.length, *seen.counts}
        return TurnCount(min(lengths), is_exact=len(lengths) == 1)


def _gone_through(loop: Turned) -> Iterator[ast.expr | None]:
    """Yield what a loop goes through, and None where it leaves some of that out."""
    if isinstance(loop, ast.For):
        yield loop.iter
        return
    for generator in loop.generators:
        yield generator.iter
        yield from [None] if generator.ifs else []


def _is_in_comprehension(frame: Frame) -> bool:
    """Tell whether it is one of a comprehension, which before Python 3.12 has a frame of its own."""
    return last_name(frame.function) in _IN_COMPREHENSIONS


def _is_written_to(module: SourceModule, call: BoundCall) -> bool:
    """Tell whether somebody may write to what the call gives: it is handed on, or its name is changed in place."""
    match call.statement.node:
        case ast.Return(value=value) if value is call.node:
            return True
        case ast.Assign(targets=targets, value=value) if value is call.node:
            return any(is_changed(module, call.statement.function, target) for target in targets)
    return False
