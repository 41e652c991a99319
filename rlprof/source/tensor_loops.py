"""Python loops that take a tensor, or an array of numpy, apart: row by row or number by number."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Final, NamedTuple, TypeGuard

from rlprof.source.loop_turns import (
    FEW,
    are_numbers_of_rows,
    bound_names,
    carried,
    counted,
    goes_backwards,
    is_short,
    keeps_state,
    recursive,
)
from rlprof.source.tensors import NONE_KNOWN, Tensors, scope_of, tensors_of
from rlprof.source.values import SeenTensor
from rlprof.syntax.distributions import is_of_distribution
from rlprof.syntax.imports import FUNCTIONAL, NUMPY, TORCH, name_key, root_name
from rlprof.syntax.module import (
    PARSED_FILES,
    Loop,
    SourceModule,
    Statement,
    called_name,
    parse,
    variables_assigned,
)
from rlprof.syntax.nodes import items_of, names_in, owner_of

_ACTS: Final = frozenset(
    {"step", "reset", "backward", "zero_grad", "render", "send", "recv", "put", "get", "wait"}
)
"""Calls that cannot be made for all turns at once: a loop with one of them is a rollout or an update."""

_READS: Final = frozenset({"item", "float", "int", "bool"})
"""Calls that make a number of an element, so that it is one."""

_GENERATORS: Final = frozenset({"random", *(f"{name}.random" for name in NUMPY)})
_DRAWS: Final = frozenset({"randint", "random", "uniform", "normal", "randn", "rand", "gauss"})

_PLAIN: Final = _READS | frozenset(
    {"len", "append", "range", "enumerate", "zip", "reversed", "abs", "max", "min", "round"}
)
"""Calls on a line that take little, or that go with the loop."""


class TensorKind(NamedTuple):
    """Kind of what is taken apart."""

    package: str
    called_by: frozenset[str]
    """Names by which its functions are called, with those that work on numbers alone."""
    longest_row: float
    """Numbers of a row from which on the work of a turn is more than its calls."""
    with_lists: bool = False
    """True if lists of such are gone through like one."""


TENSORS: Final = TensorKind("torch", TORCH | FUNCTIONAL, float("inf"))
"""Tensors of torch, told by the source or seen."""

TENSORS_AND_LISTS: Final = TENSORS._replace(with_lists=True)
"""With lists of tensors that were seen."""

ARRAYS: Final = TensorKind("numpy", NUMPY | {"math"}, 64)
"""Arrays of numpy, where they were seen: a call on 64 numbers takes half as long again as one on a few."""


@dataclass(frozen=True, slots=True)
class TensorLoop:
    """One such loop."""

    tensor: str
    """Value that is taken apart, as written."""
    line: int
    """Line of the ``for`` or ``while``."""
    goes_backwards: bool
    """From the last turn to the first, each of which needs the one after: advantages, returns."""
    of_numbers: bool
    """True if what a turn takes is a number for sure; else it may be a row of any length."""
    turns: int
    """As many as what is taken apart had rows when it was seen; 0 where it was not."""
    may_be_little: bool
    """True if the source does not tell how much one operation for all would do: it goes through the rows for which something holds, one or
    all, or copies a part of each whose place is drawn, small or large."""
    of_one_column: bool
    """True if it goes down a single column, as ``rewards[t, env]`` in a loop over environments does."""


@lru_cache(maxsize=PARSED_FILES)
def tensor_loops(
    text: str, seen: frozenset[SeenTensor] = frozenset(), kind: TensorKind = TENSORS
) -> Mapping[int, TensorLoop]:
    """The loops by the lines that do their work; empty when ``text`` cannot be read.

    ``seen`` are those of the kind that were met at its lines: names of a function that its text says nothing about.
    """
    module = parse(text)
    written = {} if kind is ARRAYS else tensors_of(text)
    return _found(module, written, seen, kind) if module is not None else {}


def _found(
    module: SourceModule,
    written: Mapping[str, Tensors],
    seen: Iterable[SeenTensor],
    kind: TensorKind,
) -> dict[int, TensorLoop]:
    shapes = _shapes(module, seen)
    if not written and not shapes:
        return {}
    found: dict[int, TensorLoop] = {}
    needed: set[int] = set()
    """Lines of loops whose turns need each other."""
    # From the inside out: what the turns of an inner loop need of each other holds for its lines.
    for scope, loop, body in sorted(_loops(module), key=_innermost_first):
        known = shapes.get(scope, {})
        tensors = written.get(scope, NONE_KNOWN).and_also(known)
        turns = _TurnWork(loop, body, tensors, known, kind, module.imports)
        backwards = turns.are_recursive and goes_backwards(loop)
        if turns.are_one_by_one and (backwards or not turns.need_each_other):
            what = TensorLoop(
                turns.tensor,
                loop.lineno,
                goes_backwards=backwards,
                of_numbers=turns.are_numbers,
                turns=turns.number,
                may_be_little=turns.are_found_rows or turns.draw,
                of_one_column=turns.are_of_one_column,
            )
            # Where nothing in a turn is written in Python, all its time is seen at the last line.
            lines = {*turns.body_lines(), loop.lineno} if backwards else set(turns.lines())
            found |= dict.fromkeys(lines - needed - found.keys(), what)
        if turns.need_each_other:
            needed.update(turns.body_lines())
    return found


def _shapes(
    module: SourceModule, seen: Iterable[SeenTensor]
) -> dict[str, dict[str, tuple[int, ...]]]:
    """Shapes of what was seen, by function and name: ``q`` for a variable, ``.q`` for an attribute of anything."""
    found: dict[str, dict[str, tuple[int, ...]]] = defaultdict(dict)
    for line, operand, shape in seen:
        statement = module.statement_at(line)
        owner, dot, last = operand.rpartition(".")
        if statement is not None and last.isidentifier():
            found[scope_of(statement)][f"{dot}{last}" if owner else last] = shape
    return found


def _loops(module: SourceModule) -> Iterator[tuple[str, Loop, list[Statement]]]:
    """Yield the loops, and the comprehensions as if they were written as such, with their functions and bodies."""
    for statement in module.statements:
        if isinstance(statement.node, Loop):
            yield scope_of(statement), statement.node, module.inside(statement.node)
        for node in statement.walk():
            if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
                yield scope_of(statement), *_written_out(node, statement)


def _written_out(
    node: ast.ListComp | ast.GeneratorExp | ast.SetComp, statement: Statement
) -> tuple[ast.For, list[Statement]]:
    first = node.generators[0]
    inner = [generator.iter for generator in node.generators[1:]]
    tests = [test for generator in node.generators for test in generator.ifs]
    turn = ast.copy_location(ast.Expr(ast.Tuple([node.elt, *inner, *tests], ast.Load())), node)
    loop = ast.copy_location(ast.For(first.target, first.iter, [turn], []), node)
    return loop, [replace(statement, node=turn)]


def _innermost_first(found: tuple[str, Loop, list[Statement]]) -> int:
    return -found[1].lineno


class _TurnWork:
    """Work that a loop does turn by turn."""

    def __init__(
        self,
        loop: Loop,
        body: list[Statement],
        tensors: Tensors,
        shapes: Mapping[str, tuple[int, ...]],
        kind: TensorKind,
        imports: Mapping[str, str],
    ) -> None:
        """``shapes`` of tensors that were seen, by name."""
        self._kind = kind
        self._imports = imports
        self._shapes = shapes
        self._loop = loop
        self._body = body
        bound = dict(bound_names(loop, tensors))
        self._names = set(bound)
        """Counters, elements of tensors, and what is made of them."""
        self._iterates = any(bound.values())
        self.are_found_rows = isinstance(loop, ast.For) and are_numbers_of_rows(loop.iter)
        """True if rows that a turn writes are what is taken apart, too."""
        self._tensors = tensors.and_also(name for name, tensor in bound.items() if tensor)
        for statement in body:
            made, value = _made(statement)
            if value is not None and self._mentions_turn(value):
                self._names |= made
                if self._tensors.holds(value):
                    self._tensors = self._tensors.and_also(made)
        taken = (ast.unparse(node.value) for node in self._walk() if self._takes(node))
        self.tensor = next((tensor for tensor in bound.values() if tensor), "") or next(taken, "")
        """Value that is taken apart; empty where no tensor is."""
        owner, dot, last = self.tensor.rpartition(".")
        self._shape = shapes.get(f"{dot}{last}" if owner else last)
        self.are_recursive = bool(recursive(body) - counted(loop)) or keeps_state(body)
        self.need_each_other = self.are_recursive or bool(carried(body) - counted(loop))
        self.draw = any(isinstance(node, ast.Call) and _draws(node) for node in self._walk())
        """True if each turn draws random numbers of its own."""

    @property
    def number(self) -> int:
        return self._shape[0] if self._shape else 0

    @property
    def are_one_by_one(self) -> bool:
        """True if all turns could be done at once, as far as what they call and take tells."""
        if not self.tensor or is_short(self._loop):
            return False
        if self._shape is not None and (not self._shape or self._shape[0] <= FEW):
            return False
        # What is made of an array in the loop was not seen: how many rows it has nobody knows.
        if self._kind is ARRAYS and self._shape is None:
            return False
        if self._longest_row() > self._kind.longest_row or (self.draw and not self._only_copy()):
            return False
        for node in self._walk():
            if isinstance(node, ast.Call) and not self._is_for_all(node):
                return False
            # What the caller does with it, or waits for, comes between two turns.
            if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
                return False
            # Several rows of each turn are a batch of it.
            if isinstance(node, ast.Slice) and self._mentions_turn(node):
                return False
        return True

    def _only_copy(self) -> bool:
        """Tell whether each turn copies a part of its row to its place in something else: what draws may do more than can be told."""
        if not isinstance(self._loop, ast.For):
            return False
        counters = variables_assigned(self._loop.target)
        written: set[str] = set()
        for statement in self._body:
            match statement.node:
                case ast.Assign(targets=[ast.Name()], value=ast.Call() as call) if _draws(call):
                    pass
                case ast.Assign(
                    targets=[ast.Subscript(value=to, slice=ast.Name(id=place))],
                    value=ast.Subscript() as part,
                ) if place in counters and self._takes(part):
                    written.add(ast.unparse(to))
                case _:
                    return False
        return self.tensor not in written

    def _longest_row(self) -> float:
        """Numbers in the longest row that a turn takes, where it was seen."""
        taken = [(node.value, node.slice) for node in self._walk() if self._takes(node)]
        rows = [
            prod(shape[_whole_axes(index) :])
            for owner, index in taken
            if (shape := self._shapes.get(name_key(owner)))
        ]
        if self._iterates and self._shape is not None:
            rows.append(prod(self._shape[1:]))
        return max(rows, default=0)

    @property
    def are_numbers(self) -> bool:
        if self._shape is not None and len(self._shape) == 1:
            return True
        for statement in self._body:
            node = statement.node
            if isinstance(node, ast.If) and self._is_of_turn(node.test):
                return True
            for call in statement.calls():
                if called_name(call) in _READS:
                    parts = [*call.args, *owner_of(call)]
                    if any(map(self._is_of_turn, parts)):
                        return True
        return False

    @property
    def are_of_one_column(self) -> bool:
        taken = [node.slice for node in self._walk() if self._takes(node)]
        return bool(taken) and all(
            isinstance(subscript, ast.Tuple)
            and all(isinstance(index, ast.Name) for index in subscript.elts)
            for subscript in taken
        )

    def lines(self) -> Iterator[int]:
        """Yield the lines that do the work, with the loop's own where it takes a tensor apart itself."""
        working = [inner for inner in self._body if self._is_work(inner)]
        for statement in working:
            yield from statement.lines
        if working and self._iterates:
            yield self._loop.lineno

    def body_lines(self) -> Iterator[int]:
        for statement in self._body:
            yield from statement.lines

    def _is_work(self, statement: Statement) -> bool:
        """Tell whether something of this turn is worked on, and nothing is called that is not of its kind.

        What a recursion over tensors is about is tensors, also where the text does not show it.
        """
        nodes = list(statement.walk())
        is_mine = self._mentions_turn if self.need_each_other else self._is_of_turn
        return any(isinstance(node, ast.expr) and is_mine(node) for node in nodes) and all(
            self._is_of_kind(node) for node in nodes if isinstance(node, ast.Call)
        )

    def _is_for_all(self, call: ast.Call) -> bool:
        """Tell whether the call could be made once for all turns.

        What a function of the user's does with a turn (an update, say) the loop does not show. A
        recursion is known by what it carries, whatever else is called in it.
        """
        if called_name(call) in _ACTS:
            return False
        return self.need_each_other or self._is_of_kind(call)

    def _is_of_kind(self, call: ast.Call) -> bool:
        if called_name(call) in _PLAIN or root_name(call.func) in self._kind.called_by:
            return True
        if _draws(call) or (self._kind is not ARRAYS and is_of_distribution(call, self._imports)):
            return True
        return any(self._tensors.holds(receiver) for receiver in owner_of(call))

    def _is_of_turn(self, expression: ast.expr) -> bool:
        return self._tensors.holds(expression) and self._mentions_turn(expression)

    def _mentions_turn(self, node: ast.AST) -> bool:
        return not self._names.isdisjoint(names_in(node))

    def _takes(self, node: ast.AST) -> TypeGuard[ast.Subscript]:
        return (
            isinstance(node, ast.Subscript)
            and (isinstance(node.ctx, ast.Load) or self.are_found_rows)
            and self._mentions_turn(node.slice)
            and self._tensors.holds(node.value)
        )

    def _walk(self) -> Iterator[ast.AST]:
        for statement in self._body:
            yield from statement.walk()


def _made(statement: Statement) -> tuple[frozenset[str], ast.expr | None]:
    """The plain variables that an assignment gives a value, and the value."""
    node = statement.node
    if not isinstance(node, ast.Assign):
        return frozenset(), None
    return frozenset(
        target.id for target in node.targets if isinstance(target, ast.Name)
    ), node.value


def _whole_axes(index: ast.expr) -> int:
    """Axes of which a turn takes one place; of a slice it takes several."""
    parts = items_of(index)
    return next((at for at, part in enumerate(parts) if isinstance(part, ast.Slice)), len(parts))


def _draws(call: ast.Call) -> bool:
    """Tell whether it is a random number of numpy's or Python's own generator, of which one call draws as many as there are turns."""
    owner, _, name = ast.unparse(call.func).rpartition(".")
    return owner in _GENERATORS and name in _DRAWS
