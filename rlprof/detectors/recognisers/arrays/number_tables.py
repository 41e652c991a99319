"""Tables of numbers, lists of lists, that loops of Python go through: a row of one, or all rows by two loops, one in the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.bound_inputs import values_assigned
from rlprof.syntax.loop_elements import Turns
from rlprof.syntax.module import SourceModule
from rlprof.syntax.nodes import assigned, nodes_in


class NumbersSeen(NamedTuple):
    """Numbers that a loop goes through."""

    many: int
    container: str
    """In words."""
    is_dict: bool
    is_kept: bool
    """True if an array could hold them from step to step: they are an attribute's, or an array already. A list that is made anew has to
    be turned into one.
    """


class TableTurns(NamedTuple):
    """Turns of two loops, one in the other, that come to each place of tables once."""

    turns: Turns
    """With the names of both loops, and the body of the inner one."""
    numbers: NumbersSeen
    """Those of one of the tables."""


def rows_seen(turns: Turns, known: Mapping[str, Value]) -> dict[str, Value]:
    """Return the rows that a turn takes an item of, as written (``self.w[a]``), with what was seen of the first row of their table."""
    found: dict[str, Value] = {}
    for row in _rows(turns):
        table = value_of(row.value, known)
        first = table.first if table is not None and not table.is_mixed else None
        if first is not None and first.is_container and not first.is_mixed:
            found[ast.unparse(row)] = first
    return found


def table_turns(
    module: SourceModule, turns: Turns, known: Mapping[str, Value]
) -> TableTurns | None:
    """Return the turns of a loop whose body is one other loop, where the two go through all places of tables, each by both numbers."""
    match turns.body, [*turns.elements.items()]:
        case (
            [
                ast.For(
                    target=ast.Name(id=column),
                    iter=ast.Call(func=ast.Name(id="range"), args=[columns]),
                    body=body,
                    orelse=[],
                )
            ],
            [(row, ast.Call(func=ast.Name(id="range"), args=[rows]))],
        ):
            pass
        case _:
            return None
    inner = Turns({row: rows, column: columns}, body, turns.lines, turns.at_times)
    items = [node for node in nodes_in(*body) if isinstance(node, ast.Subscript)]
    taken = [*_rows(inner)]
    # Each item is of a row of a table, and each table is taken at the turn's own place.
    if not taken or len(items) != 2 * len(taken):
        return None
    if any(ast.unparse(each.slice) != row for each in taken) or any(
        ast.unparse(each.slice) != column for each in items if each not in taken
    ):
        return None
    tables = [each.value for each in taken]
    if not all(_has_all(module, table, turns.lines.start, rows, columns) for table in tables):
        return None
    seen = value_of(tables[0], known)
    first = seen.first if seen is not None else None
    many = (seen.length or 0) * (first.length or 0) if seen and first else 0
    text = f"{ast.unparse(tables[0])}: {many} numbers, row by row"
    kept = all(_is_kept(module, table, turns.lines.start) for table in tables)
    return TableTurns(inner, NumbersSeen(many, text, False, kept))


def _rows(turns: Turns) -> Iterator[ast.Subscript]:
    """Yield the rows that items are taken of: ``Q[i]`` of ``Q[i][j]``."""
    for node in nodes_in(*turns.body):
        match node:
            case ast.Subscript(value=ast.Subscript() as row):
                yield row


def _has_all(
    module: SourceModule, table: ast.expr, line: int, rows: ast.expr, columns: ast.expr
) -> bool:
    """Tell whether a table was made with that many rows and columns wherever it is made: ``[[0.0] * columns for _ in range(rows)]``."""
    made = _made(module, table, line)
    return bool(made) and all(
        _sizes_made(value) == (ast.unparse(rows), ast.unparse(columns)) for value in made
    )


def _made(module: SourceModule, table: ast.expr, line: int) -> list[ast.expr]:
    """Return what a table is assigned: a variable in the function, an attribute anywhere in the file."""
    if isinstance(table, ast.Name):
        return [*values_assigned(module, module.function_at(line), table.id)]
    return [
        each.value
        for statement in module.statements
        for each in assigned(statement.node)
        if ast.unparse(each.target) == ast.unparse(table)
    ]


def _sizes_made(made: ast.expr) -> tuple[str, str] | None:
    match made:
        case ast.ListComp(
            elt=row,
            generators=[
                ast.comprehension(iter=ast.Call(func=ast.Name(id="range"), args=[rows]), ifs=[])
            ],
        ):
            pass
        case _:
            return None
    match row:
        case ast.BinOp(left=ast.List(elts=[_]), op=ast.Mult(), right=columns):
            return ast.unparse(rows), ast.unparse(columns)
        case ast.ListComp(
            generators=[
                ast.comprehension(iter=ast.Call(func=ast.Name(id="range"), args=[columns]), ifs=[])
            ]
        ):
            return ast.unparse(rows), ast.unparse(columns)
    return None


def _is_kept(module: SourceModule, table: ast.expr, line: int) -> bool:
    """Tell whether a table outlives a turn of the loop around: it is an attribute, or a variable that this loop does not make."""
    around = module.innermost_loop(line)
    if isinstance(table, ast.Attribute) or around is None:
        return isinstance(table, ast.Attribute)
    return not any(
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.id == ast.unparse(table)
        for node in ast.walk(around)
    )


def writes_to_a_view(module: SourceModule, line: int, turns: Turns) -> bool:
    """Tell whether the function has two names for one array, ``after = values[1:]``, of which a turn writes to one and reads the other."""
    items = [node for node in nodes_in(*turns.body) if isinstance(node, ast.Subscript)]
    written = {ast.unparse(item.value) for item in items if not isinstance(item.ctx, ast.Load)}
    used = {ast.unparse(item.value) for item in items} | set(
        map(ast.unparse, turns.elements.values())
    )
    for statement in module.of_function(module.function_at(line)):
        for each in assigned(statement.node):
            value = each.value.value if isinstance(each.value, ast.Subscript) else each.value
            names = {ast.unparse(each.target), ast.unparse(value)}
            if names <= used and not names.isdisjoint(written):
                return True
    return False
