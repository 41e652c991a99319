"""Find the loops that go through what a function returns or yields."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rlprof.syntax.ancestors import Turned, parents
from rlprof.syntax.imports import own_name
from rlprof.syntax.module import Function, SourceModule

_OF_DICTIONARIES: Final = ("items", "values")


class Through(NamedTuple):
    module: SourceModule
    function: Function | None
    """The one that the loop is in."""
    loop: Turned
    target: ast.expr
    """Variables that hold an item in each turn."""


def loops_through(modules: Sequence[SourceModule], name: str) -> list[Through] | None:
    """Return all loops through what the functions called ``name`` give, its items or values; None where the name is used in any other way:
    what they give is kept, or they are handed on.
    """
    found: list[Through] = []
    for module in modules:
        known = parents(module)
        for node in known:
            if own_name(node) != name:
                continue
            turns = _turns_through(node, known)
            loop = turns if isinstance(turns, ast.For) else known.get(turns) if turns else None
            if turns is None or not isinstance(loop, Turned):
                return None
            function = module.function_at(loop.lineno)
            found.append(Through(module, function, loop, turns.target))
    return found


def _turns_through(
    name: ast.AST, known: Mapping[ast.AST, ast.AST]
) -> ast.For | ast.comprehension | None:
    """Return what goes through the call of what ``name`` names."""
    call = known.get(name)
    if not isinstance(call, ast.Call) or call.func is not name:
        return None
    part = known.get(call)
    if isinstance(part, ast.Attribute) and part.attr in _OF_DICTIONARIES:
        asked = known.get(part)
        call = asked if isinstance(asked, ast.Call) and asked.func is part else call
    turns = known.get(call)
    if isinstance(turns, ast.For | ast.comprehension) and turns.iter is call:
        return turns
    return None
