"""Sums over the transitions of a table, for all its states, that Python adds up one by one: value iteration, policy evaluation."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final

from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import Line, UserLines
from rlprof.source.parameters import Parameters
from rlprof.source.table_sums import (
    Lookup,
    TableSum,
    indices_of,
    loops_around,
    sums_at,
)
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.module import Function, SourceModule, called_name
from rlprof.syntax.origin import installed_package

FEWEST: Final = 16
"""States from which on a sweep is told: FrozenLake's smallest map has as many."""

_NUMBERS: Final = ("float", "int", "bool", "numpy.float", "numpy.int", "numpy.bool")
_ROWS: Final = ("list", "tuple", "dict", "numpy.ndarray")
_ARRAY: Final = "numpy.ndarray"


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
        self._parameters = Parameters(profile.sources, profile.run.command)

    def found(self) -> list[TableSweep]:
        found: dict[tuple[str, int], TableSweep] = {}
        us: dict[tuple[str, int], dict[Line, int]] = defaultdict(lambda: defaultdict(int))
        for node in self._tree.hot_nodes() if self._values else ():
            frame = self._tree.frame(node)
            module = self._lines.module(frame.file) if self._lines.is_yours(frame) else None
            if module is None:
                continue
            for one in sums_at(module, frame.line):
                values = self._values_of(one, self._known(module, frame))
                if values and self._is_for_all(node, module, one):
                    key, line = (frame.file, one.lines.start), self._lines.line(node)
                    us[key][line] += self._tree.self_cost(node).wall_us
                    sweep = found.setdefault(key, TableSweep(line, values))
                    sweep.nodes.update((node, *self._in_numpy(node)))
                    break
        for key, sweep in found.items():
            sweep.place = max(us[key], key=us[key].__getitem__)
        return list(found.values())

    def _in_numpy(self, node: int) -> Iterator[int]:
        for child in self._tree.children(node):
            if installed_package(self._tree.frame(child).file) == "numpy":
                yield from self._tree.subtree(child)

    def _known(self, module: SourceModule, frame: Frame) -> Mapping[str, Value]:
        """What was seen in the function: by its lines, for a comprehension has a name of its own before Python 3.12."""
        function = module.function_at(frame.line)
        if function is None:
            return self._values.between(frame.file, range(frame.line, frame.line + 1))
        return self._values.between(frame.file, range(function.first_line, function.last_line + 1))

    def _values_of(self, one: TableSum, known: Mapping[str, Value]) -> str:
        """What holds the values of the states, in words, where all that was seen are numbers; else nothing."""
        keys = one.keys()
        seen = [value for name in one.names - keys if (value := known.get(name)) is not None]
        if not all(it.type.startswith(_NUMBERS) for it in seen):
            return ""
        if not all(_holds_numbers(it, known) for it in one.tables):
            return ""
        held = [value_of(it.table, known) for it in one.values]
        if any(it is None or _states(it, of_rows=one.of_rows) < FEWEST for it in held):
            return ""
        first = held[0]
        return f"{ast.unparse(one.values[0].table)}: {first.in_words()}" if first else ""

    def _is_for_all(self, node: int, module: SourceModule, one: TableSum) -> bool:
        """Tell whether loops around it go through all states: in its function, or in the one that calls it."""
        bound = loops_around(module, one.lines.start, one.over)
        indices = indices_of(module, one, bound)
        if not indices:
            return False
        known = self._known(module, self._tree.frame(node))
        many = min(
            (
                _states(it, of_rows=one.of_rows)
                for held in one.values
                if (it := value_of(held.table, known))
            ),
            default=FEWEST,
        )
        left = indices - bound.keys()
        around = [bound[name] for name in indices & bound.keys()]
        if left:
            called = self._called(node, module.function_at(one.lines.start), left)
            if called is None:
                return False
            caller, handed = called
            around += handed
            known = {**known, **self._known_in(caller)}
        return any(self._goes_through(it, many, known) for it in around)

    def _known_in(self, node: int) -> Mapping[str, Value]:
        frame = self._tree.frame(node)
        module = self._lines.module(frame.file)
        return self._known(module, frame) if module is not None else {}

    def _called(
        self, node: int, function: Function | None, left: set[str]
    ) -> tuple[int, list[ast.expr]] | None:
        """The user's line that calls ``function`` with elements of loops for the parameters in ``left``, and what these loops go through."""
        if function is None:
            return None
        names = [it.arg for it in function.node.args.args if it.arg not in ("self", "cls")]
        own = range(function.first_line, function.last_line + 1)
        file = self._tree.frame(node).file
        above = next(
            (
                it
                for it in self._tree.ancestors(node)
                if self._lines.is_yours(frame := self._tree.frame(it))
                and not (frame.file == file and frame.line in own)
            ),
            None,
        )
        calling = self._lines.module(self._tree.frame(above).file) if above is not None else None
        if above is None or calling is None or not left <= set(names):
            return None
        for statement in calling.statements_at(self._tree.frame(above).line):
            for call in statement.walk():
                if isinstance(call, ast.Call) and called_name(call) == function.node.name:
                    bound = loops_around(calling, statement.first_line, call)
                    given = {
                        name: value.id
                        for name, value in _given(call, names).items()
                        if isinstance(value, ast.Name) and value.id in bound
                    }
                    if left <= given.keys():
                        return above, [bound[given[name]] for name in left]
        return None

    def _goes_through(self, over: ast.expr, many: int, known: Mapping[str, Value]) -> bool:
        """Tell whether a loop goes through all states, as far as is known, and in no order that means something."""
        match over:
            case ast.Call(func=ast.Name(id="range"), args=[stop]):
                turns = self._parameters.value(stop)
                return (inf if turns is None else turns) >= FEWEST
            case ast.Call(func=ast.Name(id="list" | "tuple" | "enumerate"), args=[of]):
                return self._goes_through(of, many, known)
            case ast.Call(func=ast.Attribute(value=of, attr="items" | "keys"), args=[]):
                return self._goes_through(of, many, known)
            case ast.Name() | ast.Attribute():
                seen = value_of(over, known)
                size = (seen.shape or (0,))[0] if seen and seen.is_array else (seen and seen.length)
                return bool(size) and (size or 0) >= many
        return False


def _given(call: ast.Call, names: list[str]) -> dict[str, ast.expr]:
    """What a call gives parameters, by their names."""
    by_name = {it.arg: it.value for it in call.keywords if it.arg}
    return {**dict(zip(names, call.args, strict=False)), **by_name}


def _states(value: Value, *, of_rows: bool) -> int:
    """How many values, or rows of values, it holds; 0 for what is neither."""
    if value.type == _ARRAY:
        shape = value.shape or ()
        return shape[0] if len(shape) == 1 + of_rows else 0
    holds = value.is_container and value.items.startswith(_ROWS if of_rows else _NUMBERS)
    return (value.length or 0) if holds else 0


def _holds_numbers(one: Lookup, known: Mapping[str, Value]) -> bool:
    """Tell whether an item of a table is a number: an array has as many axes as there are indices, and lists in lists are taken for such."""
    seen = value_of(one.table, known)
    if seen is None:
        return False
    if seen.type == _ARRAY:
        return len(seen.shape or ()) == len(one.indices)
    return seen.is_container and (len(one.indices) > 1 or seen.items.startswith(_NUMBERS))
