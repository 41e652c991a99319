"""Statistics of all that was gathered so far, computed anew at each step: what could be kept as a running sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.line_time import SteadySearch, called_right_there
from rlprof.model.recording import Frame
from rlprof.source.lines import Line
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.ancestors import parents
from rlprof.syntax.bound_inputs import only_value
from rlprof.syntax.imports import full_name, name_key
from rlprof.syntax.module import SourceModule, Statement, called_name, receiver
from rlprof.syntax.nodes import assigned, names_in, nodes_in, owner_of, reads_of, targets_of
from rlprof.syntax.operands import operand_of
from rlprof.syntax.pure_calls import hardly_works, is_built_in, is_changing_method

FEWEST: Final = 200
"""Elements from which on: to go through 200 numbers of a list takes as long as some ten steps of a running mean."""

FEWEST_ROWS: Final = 2_000
"""Rows of an array, from which on: a sum that is kept takes two or three operations of numpy's at each step."""

_RUNNING: Final = frozenset(
    {"mean", "average", "sum", "std", "var", "nanmean", "nansum", "nanstd", "nanvar", "fmean", "fsum", "stdev", "pstdev", "variance"}
)  # fmt: skip
"""Statistics of which a sum or two tell all."""
_BY_ORDER: Final = frozenset(
    {"max", "min", "amax", "amin", "median", "percentile", "quantile", "sorted", "argmax", "argmin", "ptp"}
)  # fmt: skip
"""Those that take the elements in their order."""
_CONVERTS: Final = frozenset(
    {"array", "asarray", "stack", "vstack", "tensor", "as_tensor", "FloatTensor", "list", "fromiter", "concatenate", "cat"}
    | {"Series"}
)  # fmt: skip
_WINDOWS: Final = frozenset({"rolling", "expanding", "ewm"})
"""Methods of pandas after which a statistic gives one number for each element."""
_VALUES: Final = frozenset({"iloc", "values"})
_BEGINS: Final = ("__init__", "__post_init__", "__new__")
_ADDED_TO: Final = ("list", "collections.deque")
_LIBRARIES: Final = ("numpy.", "torch.", "statistics.", "math.")
_PACKAGES: Final = frozenset({"numpy", "torch", "pandas"})


class Statistic(NamedTuple):
    """A statement that goes through all of a container for a few numbers."""

    name: str
    """Of the function: ``mean``."""
    container: str
    """As written."""
    value: Value
    is_running: bool
    """True if one sum or two tell all."""
    is_alone: bool
    """True if nothing else is called there."""
    is_kept_too: bool
    """True if the line makes an array of it for another purpose as well, so that all of it is gone through in any case."""


@dataclass(slots=True)
class HistorySum:
    """One such line, with the nodes that do its work."""

    place: Line
    statistic: Statistic
    nodes: set[int] = field(default_factory=set)


class HistorySums(SteadySearch):
    """Looks for them in the steady phase."""

    def found(self) -> list[HistorySum]:
        found = self.causes_on_lines(self._sum) if self.values else []
        for one in found:
            one.nodes.update(below for node in [*one.nodes] for below in self._below(node))
        return found

    def _below(self, node: int) -> Iterator[int]:
        """Yield the work of libraries of arrays there, and of a comprehension on the line."""
        yield from called_right_there(self.tree, node, _PACKAGES)
        for child in self.tree.children(node):
            frame = self.tree.frame(child)
            if frame.file == self.tree.frame(node).file and frame.function.endswith("expr>"):
                yield from self.tree.subtree(child)

    def _sum(self, node: int, frame: Frame) -> HistorySum | None:
        module = self.lines.module(frame.file)
        known = self.values.between(frame.file, range(frame.line, frame.line + 1))
        statistic = _read(module, frame.line, known) if module and known else None
        return HistorySum(self.lines.line(node), statistic) if statistic is not None else None


def _read(module: SourceModule, line: int, known: Mapping[str, Value]) -> Statistic | None:
    for statement in module.statements_at(line):
        calls = list(statement.calls())
        statistics = [call for call in calls if _is_statistic(module, call)]
        names = {called_name(statistic) for statistic in statistics} or _made_for_statistics(
            module, statement
        )
        of = statistics or [call for call in calls if called_name(call) in _CONVERTS]
        for container in _gone_through(module, of) if names else ():
            value = value_of(container, known)
            if value is None:
                continue
            is_ring = names <= _RUNNING and (
                _is_ring(module, container, value) or _is_filled_so_far(container, value, statement)
            )
            if is_ring or _is_history(module, container, value, statement):
                others = [call for call in calls if not _is_part(call, of)]
                return Statistic(
                    min(names),
                    ast.unparse(container),
                    value,
                    is_running=names <= _RUNNING,
                    is_alone=all(map(hardly_works, others)),
                    is_kept_too=any(called_name(other) in _CONVERTS for other in others),
                )
    return None


def _is_part(call: ast.Call, statistics: Sequence[ast.Call]) -> bool:
    """Tell whether it is a statistic, or what one is given."""
    return call in nodes_in(*statistics)


def _is_statistic(module: SourceModule, call: ast.Call) -> bool:
    if called_name(call) not in _RUNNING | _BY_ORDER:
        return False
    if any(keyword.arg in ("key", "weights") for keyword in call.keywords):
        return False  # What it goes by may change from step to step.
    full = full_name(call.func, module.imports)
    is_method = isinstance(call.func, ast.Attribute) and not full
    # Of two numbers ``max`` is none.
    is_built_in = isinstance(call.func, ast.Name) and not full and len(call.args) == 1
    return full.startswith(_LIBRARIES) or is_method or is_built_in


def _made_for_statistics(module: SourceModule, statement: Statement) -> set[str]:
    """Names of the statistics of an array that the statement makes of a container, where its function uses it for nothing else."""
    match statement.node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
            if called_name(call) not in _CONVERTS:
                return set()
        case _:
            return set()
    found: set[str] = set()
    for other in module.of_function(statement.function):
        calls = list(other.calls())
        reads = len(reads_of(name, other.walk()))
        of_it = [call for call in calls if _is_statistic(module, call) and _is_of(call, name)]
        if reads > len(of_it):
            return set()
        found |= {called_name(call) for call in of_it}
    return found


def _is_of(call: ast.Call, name: str) -> bool:
    """Tell ``np.mean(x)`` and ``x.mean()`` of the variable ``x``."""
    given = [*call.args[:1], *owner_of(call)]
    return any(isinstance(argument, ast.Name) and argument.id == name for argument in given)


def _gone_through(module: SourceModule, calls: Sequence[ast.Call]) -> Iterator[ast.expr]:
    """Yield what ``calls`` are of: what they are given first, or are methods of, through conversions, and comprehensions that take elements
    as they are, or an attribute of each.
    """
    for call in calls:
        pending = [*call.args[:1], *owner_of(call)]
        while pending:
            part = pending.pop()
            if isinstance(part, ast.Call) and called_name(part) in _CONVERTS:
                pending += part.args[:1]
            elif isinstance(part, ast.Call) and called_name(part) in _WINDOWS:
                pending += owner_of(part) if _is_taken_last(module, call) else []
            elif isinstance(part, ast.ListComp | ast.SetComp | ast.GeneratorExp):
                first = part.generators[0]
                is_plain = len(part.generators) == 1 and _stays(module, part.elt)
                is_plain = is_plain and all(_is_of_it(module, test, first) for test in first.ifs)
                pending += [first.iter] if is_plain else []
            elif operand_of(part) is not None:
                yield part
            elif isinstance(part, ast.Subscript) and _is_filled_part(part.slice):
                yield part.value


def _is_taken_last(module: SourceModule, call: ast.Call) -> bool:
    """Tell whether of the numbers that a call gives the last alone is used: ``x.rolling(100).mean().iloc[-1]``."""
    above = parents(module)
    match values := above.get(call):
        case ast.Attribute(attr=attr) if attr in _VALUES:
            match above.get(values):
                case ast.Subscript(slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(1))):
                    return True
    return False


def _is_of_it(module: SourceModule, test: ast.expr, turns: ast.comprehension) -> bool:
    """Tell whether a condition goes by what an element was from the start: near what is asked for now are others each time."""
    names = names_in(test) - names_in(turns.target)
    attributes = [
        part
        for part in ast.walk(test)
        if isinstance(part, ast.Attribute) and names_in(part).isdisjoint(module.imports)
    ]
    is_fixed = all(name in module.imports or is_built_in(name) for name in names)
    return is_fixed and all(_stays(module, part) for part in attributes)


def _stays(module: SourceModule, element: ast.expr) -> bool:
    """Tell whether it is an element, or an attribute of it that nobody in the file gives another value later, nor reckons when it is asked for."""
    if not isinstance(element, ast.Attribute):
        return operand_of(element) is not None
    if any(function.node.name == element.attr for function in module.functions):
        return False
    return not any(
        isinstance(attribute, ast.Attribute)
        and attribute.attr == element.attr
        and not isinstance(attribute.ctx, ast.Load)
        for statement in module.statements
        if statement.function is None or statement.function.node.name not in _BEGINS
        for attribute in statement.walk()
    )


def _is_history(
    module: SourceModule, container: ast.expr, value: Value, statement: Statement
) -> bool:
    """Tell whether it was seen to grow, or lets go of the oldest alone; and its elements stay as they are."""
    if value.type not in _ADDED_TO or (value.length or 0) < FEWEST or value.items == "torch.Tensor":
        return False
    if not (value.type.endswith("deque") or value.grows()) or _is_stored_to(module, container):
        return False
    return not isinstance(container, ast.Name) or _is_added_to_around(
        module, container.id, statement
    )


def _is_filled_part(part: ast.expr) -> bool:
    """Tell whether it is ``[:size]``, the part of an array that is filled."""
    return isinstance(part, ast.Slice) and part.lower is None and part.step is None


def _is_ring(module: SourceModule, container: ast.expr, value: Value) -> bool:
    """Tell whether it is an array of numpy's, an attribute, that is written row by row, at a place which goes round."""
    if not _has_many_rows(value) or not isinstance(container, ast.Attribute):
        return False
    stores = list(_stores(module, container))
    scaled = any(
        isinstance(node, ast.AugAssign) and ast.unparse(node.target) == ast.unparse(container)
        for node in ast.walk(module.tree)
    )
    return bool(stores) and not scaled and all(_goes_round(module, store) for store in stores)


def _has_many_rows(value: Value) -> bool:
    return value.type == "numpy.ndarray" and (value.shape or (0,))[0] >= FEWEST_ROWS


def _is_filled_so_far(container: ast.expr, value: Value, statement: Statement) -> bool:
    """Tell whether it is the part of an attribute that is filled, ``past = self.seen[: self.count]``, and was longer at nearly every look."""
    if not _has_many_rows(value) or not value.grows():
        return False
    if not isinstance(container, ast.Name) or statement.function is None:
        return False
    match only_value(statement.function, container.id):
        case ast.Subscript(value=ast.Attribute(), slice=part):
            return _is_filled_part(part)
    return False


def _goes_round(module: SourceModule, store: ast.Subscript) -> bool:
    """Tell whether the place that ``store`` writes to is counted up in its function, modulo something: a row of a rollout is not."""
    place = ast.unparse(store.slice)
    function = module.function_at(store.lineno)
    if operand_of(store.slice) is None or function is None:
        return False
    found = [each for node in ast.walk(function.node) for each in assigned(node)]
    # Under another name as well: ``i = self.at``.
    others = (ast.unparse(each.value) for each in found if ast.unparse(each.target) == place)
    places = {place, *others}
    for each in found:
        match each.value:
            case ast.BinOp(left=ast.BinOp() as left, op=ast.Mod()):
                counted = {ast.unparse(part) for part in ast.walk(left)}
                if places & counted and ast.unparse(each.target) in places:
                    return True
    return False


def _is_stored_to(module: SourceModule, container: ast.expr) -> bool:
    """Tell whether the file gives one of its elements another value: priorities, counts."""
    return any(_stores(module, container))


def _stores(module: SourceModule, container: ast.expr) -> Iterator[ast.Subscript]:
    name = container.attr if isinstance(container, ast.Attribute) else ast.unparse(container)
    return (
        item
        for item in ast.walk(module.tree)
        if isinstance(item, ast.Subscript)
        and not isinstance(item.ctx, ast.Load)
        and ast.unparse(item.value).rpartition(".")[2] == name
    )


def _is_added_to_around(module: SourceModule, name: str, statement: Statement) -> bool:
    """Tell whether a variable is added to in turns of a loop each of which takes the statistic, and that does not begin it anew."""
    own = list(module.of_function(statement.function))
    around = _loops(module, statement)
    begun = {loop for other in own if _assigns(other, name) for loop in _loops(module, other)}
    return any(
        (around - begun) & _loops(module, other)
        for other in own
        for call in other.calls()
        if is_changing_method(called_name(call))
        if (owner := receiver(call)) is not None and ast.unparse(owner) == name
    )


def _assigns(statement: Statement, name: str) -> bool:
    return name in map(name_key, targets_of(statement.node))


def _loops(module: SourceModule, statement: Statement) -> set[int]:
    """The lines of the loops around a statement, in its function."""
    return {loop.lineno for loop in module.loops_around_all(statement.first_line)}
