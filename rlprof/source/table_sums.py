"""Sums over the transitions of a table, as a source file writes them: ``q += prob * (reward + gamma * values[after])``.

What a turn may do is a list of what is harmless; all else makes it no such sum (docs/decisions/0053-what-is-not-known-to-be-harmless-is-not.md).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.source.loop_turns import carried
from rlprof.syntax.bound_inputs import only_value
from rlprof.syntax.imports import NUMPY
from rlprof.syntax.module import (
    Comprehension,
    SourceModule,
    called_name,
    variables_assigned,
    variables_read,
)
from rlprof.syntax.nodes import items_of, lines_of, nodes_in, operands_of, with_variables
from rlprof.syntax.operands import steps_to

_OF_NUMBERS: Final = frozenset({"float", "int", "abs"})
_BEST: Final = frozenset({"max", "amax"})
_TAKE_BEST: Final = _BEST | {f"{module}.{name}" for module in NUMPY for name in _BEST}
_BESIDE: Final = frozenset({"max", "min", "abs", "float", "int", "range", "len", "enumerate"})
_ITS_OWN: Final = frozenset({"append", "items", "keys", "values"})
_OF_ARRAYS: Final = frozenset({"max", "argmax", "zeros", "amax"})
_MOST_DEPTH: Final = 4
"""Variables of a turn that are made of one another."""
_DONE: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div)


class Lookup(NamedTuple):
    """An item of a table: ``P[s][a][after]`` is one of ``P`` by three."""

    table: ast.expr
    indices: tuple[ast.expr, ...]


@dataclass(slots=True)
class TableSum:
    """A loop, or a comprehension, that adds up a weight times a value for each transition."""

    over: ast.expr
    """The container of the transitions, as written."""
    names: frozenset[str]
    """Those that a turn gets a value for."""
    lines: range
    values: list[Lookup] = field(default_factory=list)
    """Values of states that are looked up by a name of the turn's own."""
    of_rows: bool = False
    """True if what is looked up is a row, of which the best is taken: ``max(Q[after])``."""
    tables: list[Lookup] = field(default_factory=list)
    """All other items that it takes."""
    made: dict[str, ast.expr] = field(default_factory=dict)
    """Variables that a turn gives a value before it reads them."""
    added: list[ast.expr] = field(default_factory=list)

    @property
    def is_weighted(self) -> bool:
        """True if a value of a state is added times a weight of the transition's own."""
        return any(
            self._is_weight(factor) and any(map(self._has_value, factors[:at] + factors[at + 1 :]))
            for expression in self.added
            for product in ast.walk(_written_out(expression, self.made))
            if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)
            for factors in [list(operands_of(product, ast.Mult))]
            for at, factor in enumerate(factors)
        )

    def keys(self) -> set[str]:
        """Names of the turn's own by which something is looked up."""
        looked_up = (*self.values, *self.tables)
        return variables_read(*(index for one in looked_up for index in one.indices)) & self.names

    def indices(self) -> Iterator[str]:
        """Yield the names that say whose transitions are added up: ``s`` and ``a`` of ``P[s][a]``, of ``outcomes(s, a)``."""
        for node in ast.walk(self.over):
            if isinstance(node, ast.Subscript):
                yield from variables_read(node.slice)
            elif isinstance(node, ast.Call) and called_name(node) not in ("range", "len", "enumerate", "zip"):  # fmt: skip
                for argument in node.args:
                    yield from variables_read(argument)
        for table in self.tables:
            for index in table.indices:
                yield from variables_read(index) - self.names - self.made.keys()

    def _is_weight(self, factor: ast.expr) -> bool:
        if isinstance(factor, ast.Name | ast.Attribute):
            return _first_name(factor) in self.names
        if isinstance(factor, ast.Subscript):
            one = _lookup(factor)
            own = [bool(variables_read(index) & self.names) for index in one.indices]
            of_the_turn = _first_name(one.table) in self.names
            return of_the_turn or (len(own) > 1 and any(own) and not all(own))
        return False

    def _has_value(self, factor: ast.expr) -> bool:
        written = {ast.unparse(value.table) for value in self.values}
        return any(
            isinstance(node, ast.Subscript) and ast.unparse(node.value) in written
            for node in ast.walk(factor)
        )

    def takes(self, part: ast.AST) -> bool:
        """Take in a statement of a turn, or what a comprehension adds; False for what is no arithmetic on numbers and items."""
        match part:
            case ast.AugAssign(target=target, op=ast.Add(), value=value):
                self.added.append(value)
                return self._is_shared(target) and self.is_number(value)
            case ast.Assign(targets=[target], value=ast.BinOp(left, ast.Add(), right)) if (
                ast.unparse(left) == ast.unparse(target)
            ):
                self.added.append(right)
                return self._is_shared(target) and self.is_number(right)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.made[name] = value
                return self.is_number(value)
            case ast.If(test=test, body=body, orelse=others):
                return self.is_number(test) and all(map(self.takes, (*body, *others)))
            case ast.Pass() | ast.Continue():
                return True
            case ast.expr():
                self.added.append(part)
                return self.is_number(part)
        return False

    def _is_shared(self, target: ast.expr) -> bool:
        """Tell whether all turns add to the same: ``q``, ``q[a]``, not ``q[after]``."""
        if isinstance(target, ast.Subscript):
            return variables_read(*_lookup(target).indices).isdisjoint(self.names)
        return isinstance(target, ast.Name)

    def is_number(self, expression: ast.expr) -> bool:
        """Tell whether it is arithmetic on numbers and items; take in the items."""
        match expression:
            case ast.Constant(value=int() | float()) | ast.Name():
                return True
            case ast.Attribute(value=of):
                return isinstance(of, ast.Name | ast.Attribute) and self.is_number(of)
            case ast.BinOp(left=left, op=op, right=right):
                return isinstance(op, _DONE) and self.is_number(left) and self.is_number(right)
            case ast.UnaryOp(operand=operand):
                return self.is_number(operand)
            case ast.IfExp(test=test, body=body, orelse=other):
                return all(map(self.is_number, (test, body, other)))
            case ast.Compare(left=left, ops=ops, comparators=others):
                are_plain = not any(isinstance(op, ast.In | ast.NotIn) for op in ops)
                return are_plain and all(map(self.is_number, (left, *others)))
            case ast.BoolOp(values=values):
                return all(map(self.is_number, values))
            case ast.Call(func=ast.Name(id=name), args=[of], keywords=[]) if name in _OF_NUMBERS:
                return self.is_number(of)
            case ast.Call(func=func, args=[ast.Subscript() as row], keywords=[]) if (
                ast.unparse(func) in _TAKE_BEST
            ):
                return self._is_best_of(row)
            case ast.Call(func=ast.Attribute(ast.Subscript() as row, "max"), args=[], keywords=[]):
                return self._is_best_of(row)
            case ast.Subscript():
                return self._is_item(_lookup(expression))
        return False

    def _is_best_of(self, row: ast.Subscript) -> bool:
        one = _lookup(row)
        self.of_rows = True
        return self._is_item(one) and one in self.values

    def _is_item(self, one: Lookup) -> bool:
        if not isinstance(one.table, ast.Name | ast.Attribute):
            return False
        # A name, a part of one, or a constant: ``after``, ``t.after``, ``t[1]``.
        if not all(isinstance(index, ast.Constant) or steps_to(index) for index in one.indices):
            return False
        if _first_name(one.table) in self.names:
            return True  # A part of the transition: ``t[2]``.
        is_value = len(one.indices) == 1 and _first_name(one.indices[0]) in self.names
        (self.values if is_value else self.tables).append(one)
        return True


def _written_out(expression: ast.expr, made: Mapping[str, ast.expr]) -> ast.expr:
    for _ in range(_MOST_DEPTH):
        expression = with_variables(expression, made)
    return expression


def sums_at(module: SourceModule, line: int) -> Iterator[TableSum]:
    """Yield the sums that ``line`` is a part of, or that a loop around it does beside little else."""
    for statement in module.statements_at(line):
        for call in statement.walk():
            match call:
                case ast.Call(func=func, args=[ast.GeneratorExp() | ast.ListComp() as given]) if (
                    called_name(call) in ("sum", "fsum")
                    and isinstance(func, ast.Name | ast.Attribute)
                ) and len(given.generators) == 1:
                    of = given.generators[0]
                    one = TableSum(
                        of.iter, frozenset(variables_assigned(of.target)), statement.lines
                    )
                    if one.takes(given.elt) and all(map(one.is_number, of.ifs)) and one.is_weighted:
                        yield one
    around = list(module.loops_around(line))
    around += [
        statement.node
        for statement in module.statements_at(line)
        if isinstance(statement.node, ast.For)
    ]
    for loop in reversed(around):
        for inner in ast.walk(loop):
            if isinstance(inner, ast.For) and not _has_loops(inner):
                found = _sum_of(module, inner)
                if found is not None and (loop is inner or _does_little_else(loop, inner)):
                    yield found


def _sum_of(module: SourceModule, loop: ast.For) -> TableSum | None:
    one = TableSum(loop.iter, frozenset(variables_assigned(loop.target)), lines_of(loop))
    if loop.orelse or not all(map(one.takes, loop.body)) or not one.is_weighted:
        return None
    return None if carried(module.inside(loop)) or _reads_sums(loop) else one


def _reads_sums(loop: ast.For) -> bool:
    """Tell whether a turn goes by what has been added up so far: ``if q[a] > bound``."""
    inside = list(nodes_in(*loop.body))
    sums = {ast.unparse(node.target) for node in inside if isinstance(node, ast.AugAssign)}
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node) in sums
        for node in inside
    )


def _has_loops(loop: ast.For) -> bool:
    return any(
        isinstance(node, ast.For | ast.While | Comprehension) for node in nodes_in(*loop.body)
    )


def _does_little_else(loop: ast.For | ast.AsyncFor, inner: ast.For) -> bool:
    """Tell whether all that a loop around a sum does besides is to take the best, and to keep it."""
    own = {id(node) for node in ast.walk(inner)}
    for node in ast.walk(loop):
        if id(node) in own:
            continue
        match node:
            case ast.For():
                if inner not in ast.walk(node):
                    return False
            case ast.While() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return False
            case ast.JoinedStr() | ast.MatMult() | ast.In() | ast.NotIn() | ast.Break() | ast.Try():
                return False
            case ast.Call(func=ast.Name(id=name)):
                if name not in _BESIDE:
                    return False
            case ast.Call(func=ast.Attribute(value=of, attr=name)):
                is_array = isinstance(of, ast.Name) and name in _OF_ARRAYS
                if name not in _ITS_OWN and not is_array:
                    return False
    return True


def loops_around(module: SourceModule, line: int, inner: ast.expr) -> dict[str, ast.expr]:
    """Return the names that loops and comprehensions around ``inner``, on ``line``, give a value in each turn, with what they go through."""
    bound: dict[str, ast.expr] = {}
    for loop in module.loops_around(line):
        bound |= dict.fromkeys(variables_assigned(loop.target), loop.iter)
    for statement in module.statements_at(line):
        for node in statement.walk():
            if isinstance(node, Comprehension) and inner in ast.walk(node):
                for of in node.generators:
                    if of.iter is not inner:
                        bound |= dict.fromkeys(variables_assigned(of.target), of.iter)
    return bound


def indices_of(module: SourceModule, one: TableSum, bound: Mapping[str, ast.expr]) -> set[str]:
    """Names that say whose transitions are added up, through the variables and loops that hand them on."""
    function = module.function_at(one.lines.start)
    found = set(one.indices()) - one.names
    pending, done = [*_plain(one.over)], set[str]()
    while pending:
        name = pending.pop()
        if name in done:
            continue
        done.add(name)
        source = bound.get(name)
        if source is not None:
            found.add(name)
        elif function is not None:
            source = only_value(function, name)
        if source is not None:
            handed = TableSum(source, frozenset(), one.lines)
            found |= set(handed.indices())
            pending += _plain(source)
    return found


def _plain(over: ast.expr) -> list[str]:
    """The variable that is gone through: ``outcomes``, and that of ``outcomes.items()``."""
    match over:
        case (
            ast.Name(id=name) | ast.Call(func=ast.Attribute(ast.Name(id=name), "items" | "values"))
        ):
            return [name]
    return []


def _lookup(item: ast.Subscript) -> Lookup:
    indices: list[ast.expr] = []
    table: ast.expr = item
    while isinstance(table, ast.Subscript):
        part = table.slice
        indices = [*items_of(part), *indices]
        table = table.value
    return Lookup(table, tuple(indices))


def _first_name(expression: ast.expr) -> str:
    """``t`` of ``t.after[1]``; empty for what is no part of a name."""
    steps = steps_to(expression)
    return steps[0] if steps else ""
