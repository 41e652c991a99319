"""Loops that put a batch together row by row."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final

from rlprof.source.draws import APPENDS, MAKERS, RECKONING, appended_to, draws_indices, makes_array
from rlprof.syntax.module import Statement, called_name
from rlprof.syntax.nodes import assigned, calls_in, given_by_name, names_in, nodes_in

_WHOLE_NUMBERS: Final = frozenset({"integers", "randint", "randrange"})

_ACTS: Final = frozenset({"step", "reset", "backward", "act", "send", "recv"})
"""Calls that a loop which only puts a batch together does not make."""


def row_loops(statements: list[Statement]) -> Iterator[range]:
    """Yield the lines of loops that draw a place, or go through places, take the row that is there and append what it holds to lists, of
    which arrays are made afterwards.
    """
    drawn = {
        each.target.id
        for statement in statements
        for each in assigned(statement.node)
        if isinstance(each.target, ast.Name) and any(map(draws_indices, ast.walk(each.value)))
    }
    for loop in statements:
        node = loop.node
        if not isinstance(node, ast.For):
            continue
        inside = list(ast.walk(node))
        places = {
            target.id
            for part in inside
            if isinstance(part, ast.Assign) and _draws_one(part.value)
            for target in nodes_in(*part.targets)
            if isinstance(target, ast.Name)
        }
        takes = _takes_rows(node, drawn) or any(
            isinstance(part, ast.Subscript) and not places.isdisjoint(names_in(part.slice))
            for part in inside
        )
        lists = {
            name for part in inside if isinstance(part, ast.stmt) and (name := appended_to(part))
        }
        acts = any(isinstance(part, ast.Call) and called_name(part) in _ACTS for part in inside)
        end = node.end_lineno or node.lineno
        makes = any(
            makes_array(part) and not lists.isdisjoint(names_in(part))
            for statement in statements
            if statement.first_line > end
            for part in statement.calls()
        )
        if takes and makes and not acts:
            yield range(node.lineno, end + 1)


def _takes_rows(loop: ast.For, drawn: Collection[str]) -> bool:
    """Tell whether it goes through places, and unpacks what a container has at each: ``for i in places: obs, action = rows[i]``.

    Agents are gone through like that as well, but each of their rows is one thing: ``rows.append(observations[name])``. And of what is reckoned
    with, as features are scaled by their means and widths, nothing is appended as it is; unless the places are ``drawn``, variables or there.
    """
    if not isinstance(loop.target, ast.Name):
        return False
    place = loop.target.id
    rows: set[str] = set()
    fields: set[str] = set()
    for each in (found for part in ast.walk(loop) for found in assigned(part)):
        is_row = (
            isinstance(each.value, ast.Subscript) and names_in(each.value.slice) == {place}
        ) or (isinstance(each.value, ast.Name) and each.value.id in rows)
        if is_row and each.is_unpacked:
            fields |= names_in(each.target)
        elif is_row and isinstance(each.target, ast.Name):
            rows.add(each.target.id)
    if any(map(draws_indices, ast.walk(loop.iter))) or not names_in(loop.iter).isdisjoint(drawn):
        return bool(fields)
    return any(
        _kept_as_it_is(given) in fields
        for call in calls_in(*loop.body)
        if called_name(call) in APPENDS
        for given in call.args
    )


def _kept_as_it_is(given: ast.expr) -> str:
    """Return the variable that is appended, as an array or a number perhaps: ``obs`` of ``np.array(obs, copy=False)``."""
    while isinstance(given, ast.Call):
        if called_name(given) in MAKERS | RECKONING and given.args:
            given = given.args[0]
        elif isinstance(given.func, ast.Attribute):
            given = given.func.value
        else:
            break
    return given.id if isinstance(given, ast.Name) else ""


def _draws_one(value: ast.expr) -> bool:
    """Tell whether it draws one whole number: ``rng.integers(n)``, ``random.randrange(n)``."""
    return (
        isinstance(value, ast.Call)
        and called_name(value) in _WHOLE_NUMBERS
        and 0 < len(value.args) <= 2
        and not given_by_name(value, "size")
    )
