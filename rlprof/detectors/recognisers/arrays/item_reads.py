"""Lists of numbers whose single items are read so often elsewhere that an array in their place would take longer."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from rlprof.detectors.recognisers.line_time import HasPlace, SteadySearch
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.loop_elements import Turns
from rlprof.syntax.nodes import nodes_in, without_index

_OF_ALL: Final = frozenset({"max", "min", "sum"})
"""Functions of Python's that go through a list at once, and through an array in single numbers."""

LONG_ROW: Final = 256
"""Numbers of a row from which on methods of an array (``row.max()``) are quicker than these functions of a list."""


class HasTurns(HasPlace, Protocol):
    """Loop with the work on its lines."""

    @property
    def turns(self) -> Turns: ...


class ItemReads:
    """Time of the lines of a search that read single items."""

    def __init__(self, search: SteadySearch, loops: Iterable[HasTurns]) -> None:
        """``loops`` are those that arrays would take the place of."""
        self._search = search
        self._in_loops = {(loop.place.file, line) for loop in loops for line in loop.turns.lines}

    def outweigh(self, loop: HasTurns) -> bool:
        """Tell whether other lines that read items of the lists of a loop take longer than the loop itself: an item of an array costs several
        of a list.
        """
        file, tree, us = loop.place.file, self._search.tree, 0.0
        tables = self._lists(loop)
        for node, cost in tree.self_costs() if tables else ():
            frame = tree.frame(node)
            if frame.file == file and (file, frame.line) not in self._in_loops:
                statements = self._search.lines.statements(frame)
                parts = (part for statement in statements for part in statement.walk())
                if any(_reads_items(part, tables) for part in parts):
                    us += cost.wall_us
        return us > tree.cost_of(loop.nodes).wall_us

    def _lists(self, loop: HasTurns) -> Mapping[str, Value]:
        """Return the lists of objects that a loop goes through, or takes items of, as written."""
        turns = loop.turns
        known = self._search.values.between(loop.place.file, turns.lines)
        attributes = (
            node
            for node in nodes_in(*turns.elements.values(), *turns.body)
            if isinstance(node, ast.Attribute)
        )
        return {
            ast.unparse(node): seen
            for node in attributes
            if (seen := value_of(node, known)) is not None and seen.type == "list"
        }


def _reads_items(part: ast.AST, tables: Mapping[str, Value]) -> bool:
    """Tell whether it is one item of a list, ``q[s][a]`` of a list of lists, or goes through a short row: ``max(q[s])``."""
    match part:
        case ast.Subscript():
            seen = _row(part, tables)
            return seen is not None and not seen.is_container and not seen.is_array
        case ast.Call(func=ast.Name(id=name), args=[row]) if name in _OF_ALL:
            seen = _row(row, tables)
            return seen is not None and seen.is_container and (seen.length or 0) < LONG_ROW
    return False


def _row(expression: ast.expr, tables: Mapping[str, Value]) -> Value | None:
    """Return what was seen of a table, or of its first row or item."""
    seen = tables.get(ast.unparse(without_index(expression)))
    while isinstance(expression, ast.Subscript) and seen is not None:
        if isinstance(expression.slice, ast.Slice):
            return None
        expression, seen = expression.value, seen.first
    return seen
