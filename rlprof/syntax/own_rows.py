"""Rows that each network of several is given for its own, as the experts of a mixture are: no two are given equally many."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final

from rlprof.syntax.loop_elements import Turns
from rlprof.syntax.module import called_name
from rlprof.syntax.nodes import assigned, names_in, nodes_in

_FINDS: Final = frozenset({"nonzero", "flatnonzero", "argwhere", "where", "eq", "isin"})
"""Functions whose result tells for which rows something holds."""


def are_own_rows(given: Iterable[ast.expr], turns: Turns) -> bool:
    """Tell whether what is given in a turn is selected by a condition on the turn's number or element: ``obs[owner == number]``."""
    indices = [
        node.slice
        for node in nodes_in(*_with_variables(given, turns))
        if isinstance(node, ast.Subscript)
    ]
    conditions = _with_variables(indices, turns)
    is_of_turn = not names_in(*conditions).isdisjoint(turns.elements)
    return is_of_turn and any(map(_tells_rows, nodes_in(*conditions)))


def _with_variables(given: Iterable[ast.expr], turns: Turns) -> list[ast.expr]:
    """Return what is given, and what the turn makes of the variables in it."""
    made = [each for node in nodes_in(*turns.body) for each in assigned(node)]
    found: list[ast.expr] = []
    known: set[str] = set()
    pending = [*given]
    while pending:
        part = pending.pop()
        new = names_in(part) - known
        known |= new
        found.append(part)
        pending += [each.value for each in made if new & names_in(each.target)]
    return found


def _tells_rows(node: ast.AST) -> bool:
    is_call = isinstance(node, ast.Call) and called_name(node) in _FINDS
    return is_call or isinstance(node, ast.Compare)
