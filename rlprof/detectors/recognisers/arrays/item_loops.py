"""Loops that give numpy one small array at a time: what a call costs is paid for each item."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.arrays.item_turns import WALKED, Helper, ItemTurnReader
from rlprof.model.calibration import calibrated
from rlprof.source.container_types import VIEWS
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.module import (
    Comprehension,
    Function,
    SourceModule,
    Statement,
    called_name,
    variables_assigned,
    variables_read,
)
from rlprof.syntax.nodes import calls_in, given_by_name, made_each_turn, nodes_in

FEWEST_ITEMS: Final = calibrated(
    32,
    unit="items",
    source="benchmarks/replacements.py, numpy 2.4: distances to 32 arrays of 10 take a sixth of the time at once, the array made anew",
    date="2026-11-25",
)
"""Items from which on one call for all of them is clearly quicker."""

_KEPT: Final = frozenset({"append", "add"})
"""Methods by which a turn keeps what it has computed."""
_KEYED: Final = frozenset({"min", "max", "sorted", "sort", "nsmallest", "nlargest"})
"""Functions that call their ``key`` for each item."""


class ItemLoop(NamedTuple):
    """A loop whose turns each give numpy an item, and need nothing of each other."""

    items: int
    container: str
    """What it goes through, as written."""
    array: str
    """An array that a turn works on, in words."""
    is_light: bool
    """True if a turn does an operation or two in C, and no more."""
    helpers: frozenset[Helper]
    """Functions of the user's that turns call."""


class _Loop(NamedTuple):
    """A loop as it is read, be it a comprehension, a ``for`` or a function that calls its ``key``."""

    sources: list[ast.expr]
    """What it goes through, one in the other."""
    own: set[str]
    """Variables of a turn."""
    worked: list[ast.expr]


def item_loops(
    module: SourceModule,
    values: Values,
    file: str,
    modules: Callable[[str], SourceModule | None] = lambda _: None,
) -> dict[int, ItemLoop]:
    """Return the loops of a file by the lines on which their turns work, as values show them. ``modules`` gives the sources of other files."""
    turns = ItemTurnReader(module, values, modules)
    found: dict[int, ItemLoop] = {}
    for statement in module.statements:
        known = values.of(file, statement)
        for node, loop in _on_a_line(statement):
            beside = _calls_beside(statement, node)
            if all(turns.is_small(call, known) for call in beside):
                told = _item_loop(loop, known, turns, statement.function)
                found |= dict.fromkeys(statement.lines, told) if told else {}
        node = statement.node
        if isinstance(node, ast.For):
            lines = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
            body, seen = _Body.read(node), {**values.between(file, lines), **known}
            told = _item_loop(body.loop(), seen, turns, statement.function) if body else None
            # Of two loops, one in the other, the outer one makes all the turns.
            found = (dict.fromkeys(lines, told) if told else {}) | found
    return found


def _item_loop(
    loop: _Loop, known: Mapping[str, Value], turns: ItemTurnReader, function: Function | None
) -> ItemLoop | None:
    through = [_through(source, function) for source in loop.sources]
    items = 1
    for source, base in zip(loop.sources, through, strict=True):
        items *= _turns_of(source, _length(base, known))
    if items < FEWEST_ITEMS:
        return None
    bases = dict(pair for source in through for pair in _values_of(source, known))
    turn = turns.read(loop.worked, loop.own, known, bases)
    if turn is None:
        return None
    container = " × ".join(map(ast.unparse, through))
    return ItemLoop(items, container, *turn)


def _on_a_line(statement: Statement) -> Iterator[tuple[ast.AST, _Loop]]:
    """Yield the comprehensions of a statement, and the calls that call a function for each item."""
    for node in statement.walk():
        if isinstance(node, Comprehension):
            if all(_tells_apart(test) for each in node.generators for test in each.ifs):
                made = made_each_turn(node)
                own = variables_assigned(*(each.target for each in node.generators))
                yield node, _Loop([each.iter for each in node.generators], own, made)
        elif isinstance(node, ast.Call):
            called, through = _called_for_each(node)
            match called:
                case ast.Lambda(args=ast.arguments(args=[_, *_] as arguments, defaults=[])):
                    own = {argument.arg for argument in arguments}
                    yield node, _Loop(through, own, [called.body])
                case ast.Name() | ast.Attribute() if through:
                    yield node, _Loop(through, set(), [ast.Call(called, through, [])])


def _called_for_each(call: ast.Call) -> tuple[ast.expr | None, list[ast.expr]]:
    """The function that a call calls for each item, and what it goes through."""
    name = called_name(call)
    if name == "map" and isinstance(call.func, ast.Name) and len(call.args) > 1:
        return call.args[0], [call.args[1]]
    keys = given_by_name(call, "key") if name in _KEYED else []
    if not keys:
        return None, []
    (key,) = keys
    if isinstance(call.func, ast.Attribute) and name == "sort":
        return key, [call.func.value]
    return key, call.args[-1:]


def _tells_apart(test: ast.expr) -> bool:
    """Tell ``it is not me`` and ``i != j``, which leave out one item of all."""
    match test:
        case ast.Compare(ops=[ast.IsNot() | ast.NotEq()]):
            return not any(calls_in(test))
    return False


def _calls_beside(statement: Statement, loop: ast.AST) -> Iterator[ast.Call]:
    """Yield the other calls on the lines of a loop: what they take would be taken for its own."""
    within = {id(node) for node in ast.walk(loop)}
    return (call for call in statement.calls() if id(call) not in within)


@dataclass(slots=True)
class _Body:
    """The turns of a ``for``, and of those that are all that it does."""

    sources: list[ast.expr] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    """Variables in which turns gather what they have computed."""
    worked: list[ast.expr] = field(default_factory=list)
    only_kept: list[ast.expr] = field(default_factory=list)
    """What is kept where a condition holds."""

    @classmethod
    def read(cls, node: ast.For) -> _Body | None:
        """Read a loop; None where a turn needs another, or does more than compute and keep."""
        body = cls()
        if not body._takes_in(node) or not body.kept:
            return None
        read = variables_read(*body.worked, *body.only_kept)
        return None if read & (body.kept - body.own) else body

    def loop(self) -> _Loop:
        return _Loop(self.sources, self.own, self.worked)

    def _takes_in(self, node: ast.For) -> bool:
        self.sources.append(node.iter)
        self.own |= variables_assigned(node.target)
        later = _assigned_in(node.body)
        return not node.orelse and all(self._takes(each, later) for each in node.body)

    def _takes(self, each: ast.stmt, later: set[str]) -> bool:
        """Take in a statement; ``later`` are the variables that the turn assigns anywhere: one that it has not assigned yet has what the turn
        before left.
        """
        match each:
            case ast.For():
                # Its variables begin anew in each turn of this one, or are kept.
                return not variables_read(each.iter) & (later - self.own) and self._takes_in(each)
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=value):
                if variables_read(value) & (later - self.own):
                    return False
                self.own |= variables_assigned(target)
                self.worked.append(value)
                return True
            case ast.If(test=test, body=[ast.Continue()], orelse=[]):
                return _tells_the_same(test)
            case ast.If(test=test, body=body, orelse=[]):
                return self._keeps_where(test, body)
        return self._keeps(each, self.worked)

    def _keeps(self, each: ast.stmt, into: list[ast.expr]) -> bool:
        match each:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                pass
            case (
                ast.Assign(
                    targets=[ast.Subscript(value=ast.Name(id=name), slice=index)], value=value
                )
                | ast.AugAssign(
                    target=ast.Subscript(value=ast.Name(id=name), slice=index),
                    op=ast.Add(),
                    value=value,
                )
            ) if variables_read(index) & self.own:
                into.append(index)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(ast.Name(id=name), add), args=[value])
            ) if add in _KEPT:
                pass
            case _:
                return False
        self.kept.add(name)
        into.append(value)
        return True

    def _keeps_where(self, test: ast.expr, body: Sequence[ast.stmt]) -> bool:
        """Take in what is kept where a condition holds: the best so far, found by argmin once all are known, or the number of those near."""
        tests = test.values if isinstance(test, ast.BoolOp) else [test]
        best: set[str] = set()
        for each in body:
            match each:
                case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=value):
                    best |= variables_assigned(target)
                    self.only_kept.append(value)
                case _ if not self._keeps(each, self.only_kept):
                    return False
        for condition in tests:
            if not isinstance(condition, ast.Compare):
                return False
            # The best so far is compared with, and nothing else.
            sides = (condition.left, *condition.comparators)
            self.worked += (
                side for side in sides if not (isinstance(side, ast.Name) and side.id in best)
            )
        self.kept |= best
        return not any(isinstance(call, ast.Call) for call in nodes_in(*self.only_kept))


def _assigned_in(body: Iterable[ast.stmt]) -> set[str]:
    """The variables that the statements of a turn assign themselves, or those of a loop in it."""
    found: set[str] = set()
    for each in body:
        if isinstance(each, ast.Assign):
            found |= variables_assigned(*each.targets)
        elif isinstance(each, ast.For):
            found |= variables_assigned(each.target) | _assigned_in(each.body)
    return found


def _tells_the_same(test: ast.expr) -> bool:
    """Tell ``it is me`` and ``i == j``, by which a turn leaves out one item of all."""
    match test:
        case ast.Compare(ops=[ast.Is() | ast.Eq()]):
            return not any(calls_in(test))
    return False


def _through(source: ast.expr, function: Function | None) -> ast.expr:
    """The container that ``source`` goes through: ``cells`` of ``enumerate(cells)``, of ``range(len(cells))``, and of ``range(n)`` where the
    function says once that ``n`` is its length.
    """
    match source:
        case ast.Call(func=ast.Name(id="len"), args=[of]):
            return of
        case ast.Subscript(value=ast.Attribute(value=of, attr="shape"), slice=ast.Constant(0)):
            return of
        case ast.Subscript(value=of, slice=ast.Slice(step=None)):
            return of
        case ast.Call(func=ast.Name(id="range"), args=[*_, ast.Name(id=name)] as bounds) if (
            function and len(bounds) < 3
        ):
            given = [
                assignment.value
                for assignment in ast.walk(function.node)
                if isinstance(assignment, ast.Assign)
                and name in variables_assigned(*assignment.targets)
            ]
            length = given[0] if len(given) == 1 else source
            told = _through(length, None)
            return told if told is not length else source
        case ast.Call(func=ast.Name(id="range"), args=[*_, length] as bounds) if len(bounds) < 3:
            told = _through(length, None)
            return told if told is not length else source
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in WALKED - {"zip"}:
            return _through(first, function)
        case ast.Call(func=ast.Attribute(value=owner, attr=view), args=[]) if view in VIEWS:
            return owner
    return source


def _turns_of(source: ast.expr, length: int) -> int:
    """Return how many turns a loop takes through what is ``length`` long: half of them, on the whole, where each pair is taken once; 0 where nobody
    knows how much of it is taken.
    """
    match source:
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
            return _taken(lower, upper, length)
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(start)), _]):
            return length - start
        case ast.Call(func=ast.Name(id="range"), args=[_, _]):
            return length // 2
    return length


def _taken(lower: ast.expr | None, upper: ast.expr | None, length: int) -> int:
    """Return how much is taken of what is ``length`` long: ``items[:8]``, ``items[-8:]``, and ``items[i + 1 :]`` in a loop over ``i``."""
    match lower, upper:
        case None, ast.Constant(value=int(most)):
            return min(most, length)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(most))), None:
            return min(most, length)
        case ast.Constant(value=int(start)), None:
            return length - start
        case ast.BinOp(left=ast.Name(), op=ast.Add(), right=ast.Constant(value=1)), None:
            return length // 2
    return length if lower is upper is None else 0


def _length(source: ast.expr, known: Mapping[str, Value]) -> int:
    """Return how many turns there are, at least; 0 where nobody has seen that."""
    value = value_of(source, known)
    if value is not None:
        return value.shape[0] if value.shape else value.length or 0
    match source:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(number))]):
            return number
        case ast.Call(func=ast.Name(id="zip"), args=[_, *_] as parts):
            return min(_length(_through(part, None), known) for part in parts)
    return 0


def _values_of(source: ast.expr, known: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    """Yield what a loop goes through, as written and as seen."""
    match source:
        case ast.Call(func=ast.Name(id="zip"), args=parts):
            for part in parts:
                yield from _values_of(part, known)
        case _ if (value := value_of(source, known)) is not None:
            yield ast.unparse(source), value
