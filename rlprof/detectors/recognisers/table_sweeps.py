"""Sums over the transitions of a table, for all its states, that Python adds up one by one: value iteration, policy evaluation."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import Line, UserLines, last_name
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.assignments import single_targets
from rlprof.syntax.module import Comprehension, SourceModule, Statement, called_name
from rlprof.syntax.origin import installed_package

FEWEST: Final = 16
"""States from which on a sweep is told: FrozenLake's smallest map has as many."""

_LIGHT: Final = frozenset(
    {"max", "min", "sum", "abs", "float", "int", "range", "len", "enumerate", "append", "argmax", "zeros", "items", "values", "keys"}
)  # fmt: skip
"""Calls of a sweep that arrays have for all states at once."""
_NUMBERS: Final = ("float", "int", "bool", "numpy.float", "numpy.int", "numpy.bool")


class _Sum(NamedTuple):
    """A loop, or a comprehension, that adds up one state's transitions."""

    over: ast.expr
    """What it goes through."""
    names: frozenset[str]
    """Those that a turn gets a value for."""
    body: Sequence[ast.AST]
    lines: range


@dataclass(slots=True)
class TableSweep:
    """The sums of one function, with their work."""

    place: Line
    values: str
    """What holds a value for each state, in words."""
    nodes: set[int] = field(default_factory=set)


class TableSweeps:
    """Looks for them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        self._tree = profile.steady
        self._lines = lines
        self._values = Values(profile.values)

    def found(self) -> list[TableSweep]:
        found: dict[tuple[str, str], TableSweep] = {}
        us: dict[tuple[str, str], dict[Line, int]] = defaultdict(lambda: defaultdict(int))
        for node in self._tree.hot_nodes() if self._values else ():
            frame = self._tree.frame(node)
            if not self._lines.is_yours(frame):
                continue
            seen = self._sweep_at(node, frame)
            if seen:
                key, line = (frame.file, _function(frame)), self._lines.line(node)
                us[key][line] += self._tree.self_cost(node).wall_us
                sweep = found.setdefault(key, TableSweep(line, seen))
                sweep.nodes.update((node, *self._in_numpy(node)))
        for key, sweep in found.items():
            sweep.place = max(us[key], key=us[key].__getitem__)
        return list(found.values())

    def _in_numpy(self, node: int) -> Iterator[int]:
        for child in self._tree.children(node):
            if installed_package(self._tree.frame(child).file) == "numpy":
                yield from self._tree.subtree(child)

    def _sweep_at(self, node: int, frame: Frame) -> str:
        """The values in words, where ``node`` is in a sum of a sweep, or on a line of a loop around one that does little else."""
        module = self._lines.module(frame.file)
        if module is None:
            return ""
        known = self._values.within(frame.file, _function(frame))
        for one in _sums_at(module, frame.line):
            values = _values_of(one, known)
            if values and self._is_for_all(node, module, one):
                return values
        return ""

    def _is_for_all(self, node: int, module: SourceModule, one: _Sum) -> bool:
        """Tell whether loops around it go through all states: in its function, or in the one that calls it."""
        function = module.function_at(one.lines.start)
        bound = _bound_around(module, one)
        left = _indices(one, bound) - bound.keys()
        if not left:
            return bool(bound)
        names = (
            [it.arg for it in function.node.args.args if it.arg not in ("self", "cls")]
            if function
            else []
        )
        above = next(
            (
                it
                for it in map(self._tree.frame, self._tree.ancestors(node))
                if self._lines.is_yours(it) and _function(it) != _function(self._tree.frame(node))
            ),
            None,
        )
        calling = self._lines.module(above.file) if above is not None else None
        if function is None or above is None or calling is None or not left <= set(names):
            return False
        return any(
            all(_is_bound_name(call, names.index(name), loops) for name in left)
            for statement in calling.statements_at(above.line)
            for call in statement.walk()
            if isinstance(call, ast.Call) and called_name(call) == function.node.name
            if (loops := _targets_around(calling, statement, call))
        )


def _function(frame: Frame) -> str:
    """The function that a comprehension is in, which has a frame of its own before Python 3.12."""
    name = frame.function
    while last_name(name).startswith("<") and last_name(name) != "<module>":
        name = name.rpartition(".")[0].removesuffix(".<locals>")
    return name


def _sums_at(module: SourceModule, line: int) -> Iterator[_Sum]:
    """Yield the sums that ``line`` is a part of, or that the loops around it do beside little else."""
    for statement in module.statements_at(line):
        for call in statement.walk():
            match call:
                case ast.Call(args=[ast.GeneratorExp() | ast.ListComp() as given]) if (
                    called_name(call) in ("sum", "fsum") and len(given.generators) == 1
                ):
                    of = given.generators[0]
                    names = frozenset(_names(of.target))
                    yield _Sum(of.iter, names, [given.elt, *of.ifs], statement.lines)
    around = list(module.loops_around(line))
    for statement in module.statements_at(line):
        if isinstance(statement.node, ast.For):
            around.append(statement.node)
    for loop in reversed(around):
        for inner in ast.walk(loop):
            if isinstance(inner, ast.For) and not any(
                isinstance(it, ast.For) for part in inner.body for it in ast.walk(part)
            ):
                lines = range(inner.lineno, (inner.end_lineno or inner.lineno) + 1)
                one = _Sum(inner.iter, frozenset(_names(inner.target)), inner.body, lines)
                if loop is inner or _goes_through_states(module, loop, one):
                    yield one


def _goes_through_states(module: SourceModule, loop: ast.For | ast.AsyncFor, one: _Sum) -> bool:
    """Tell whether a loop around a sum says whose transitions are added up, and does little else."""
    if _indices(one, _bound_around(module, one)).isdisjoint(_names(loop.target)):
        return False
    return all(called_name(it) in _LIGHT for it in ast.walk(loop) if isinstance(it, ast.Call))


def _values_of(one: _Sum, known: Mapping[str, Value]) -> str:
    """What holds the values of the states, in words, where each turn adds one of them times something of its own; else nothing."""
    added = list(_added(one.body))
    if not added or not all(map(_is_arithmetic, one.body)):
        return ""
    own = {name: seen for name in one.names if (seen := known.get(name)) is not None}
    keys = {name for part in one.body for name in _keys(part)}
    if any(not seen.type.startswith(_NUMBERS) for name, seen in own.items() if name not in keys):
        return ""
    for expression in added:
        for product in ast.walk(expression):
            if not (isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)):
                continue
            sides = [product.left, product.right]
            for weight, other in (sides, reversed(sides)):
                if not one.names & _read(weight):
                    continue
                for value in ast.walk(other):
                    if (seen := _looked_up(value, one, known)) is not None:
                        assert isinstance(value, ast.Subscript)
                        return f"{ast.unparse(value.value)}: {seen.in_words()}"
    return ""


def _looked_up(value: ast.AST, one: _Sum, known: Mapping[str, Value]) -> Value | None:
    """What holds the values, where ``value`` is one of its numbers, found by a name of the turn's own."""
    match value:
        case ast.Subscript(value=of, slice=ast.Name(id=index)) if index in one.names:
            seen = value_of(of, known)
            if seen is None:
                return None
            is_row = seen.is_array and len(seen.shape or ()) == 1
            is_held = seen.is_container and seen.items.startswith(_NUMBERS)
            many = (seen.shape or (0,))[0] if seen.is_array else seen.length or 0
            return seen if (is_row or is_held) and many >= FEWEST else None
    return None


def _added(body: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """Yield what a turn adds to a sum: all of a comprehension in ``sum``."""
    for part in body:
        match part:
            case ast.expr():
                yield part
            case ast.AugAssign(op=ast.Add(), value=value):
                yield value
            case ast.Assign(
                targets=[target], value=ast.BinOp(left=left, op=ast.Add(), right=right)
            ):
                if ast.unparse(target) == ast.unparse(left):
                    yield right


def _is_arithmetic(part: ast.AST) -> bool:
    """Tell whether a turn does nothing but arithmetic on numbers and items of tables."""
    if isinstance(part, ast.For | ast.While | ast.With | ast.Try | ast.Return | ast.Break):
        return False
    return all(
        called_name(it) in _LIGHT and isinstance(it.func, ast.Name)
        for it in ast.walk(part)
        if isinstance(it, ast.Call)
    )


def _bound_around(module: SourceModule, one: _Sum) -> dict[str, ast.expr]:
    """What the loops around a sum give a value in each turn, with what they go through."""
    bound: dict[str, ast.expr] = {}
    for loop in module.loops_around(one.lines.start):
        bound.update(dict.fromkeys(_names(loop.target), loop.iter))
    for statement in module.statements_at(one.lines.start):
        for node in statement.walk():
            if isinstance(node, Comprehension):
                for of in node.generators:
                    if of.iter is not one.over and any(it is one.over for it in ast.walk(node)):
                        bound.update(dict.fromkeys(_names(of.target), of.iter))
    return bound


def _indices(one: _Sum, bound: Mapping[str, ast.expr]) -> set[str]:
    """Names that say which transitions are gone through: ``s`` and ``a`` of ``P[s][a]``."""
    found: set[str] = set()
    pending, done = [one.over, *_tables(one)], set[str]()
    while pending:
        for node in ast.walk(pending.pop()):
            if isinstance(node, ast.Subscript):
                found |= _read(node.slice) - one.names
            elif isinstance(node, ast.Name) and node.id in bound and node.id not in done:
                done.add(node.id)
                found.add(node.id)
                pending.append(bound[node.id])
    return found


def _tables(one: _Sum) -> Iterator[ast.expr]:
    """Yield the items that a turn takes by a name of its own and others: ``P[s, a, after]``."""
    for part in one.body:
        for node in ast.walk(part):
            match node:
                case ast.Subscript(value=ast.Name() | ast.Attribute(), slice=ast.Name()):
                    pass  # One number of each state: ``V[after]``.
                case ast.Subscript(slice=index) if one.names & _read(index):
                    yield node


def _targets_around(module: SourceModule, statement: Statement, call: ast.Call) -> set[str]:
    """Names that loops around a call give a value, and comprehensions that it is in."""
    found = {
        name for loop in module.loops_around(statement.first_line) for name in _names(loop.target)
    }
    for node in statement.walk():
        if isinstance(node, Comprehension) and any(it is call for it in ast.walk(node)):
            found.update(name for of in node.generators for name in _names(of.target))
    return found


def _is_bound_name(call: ast.Call, position: int, loops: set[str]) -> bool:
    if position >= len(call.args):
        return False
    given = call.args[position]
    return isinstance(given, ast.Name) and given.id in loops


def _keys(part: ast.AST) -> Iterator[str]:
    """Yield the names by which something is looked up."""
    for node in ast.walk(part):
        if isinstance(node, ast.Subscript):
            yield from _read(node.slice)


def _names(target: ast.expr) -> Iterator[str]:
    return (it.id for it in single_targets(target) if isinstance(it, ast.Name))


def _read(node: ast.AST) -> set[str]:
    return {it.id for it in ast.walk(node) if isinstance(it, ast.Name)}
