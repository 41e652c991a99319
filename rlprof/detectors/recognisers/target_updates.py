"""Loops that move a target network towards another, parameter by parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from rlprof.syntax.module import PARSED_FILES, called_name, parse

_PARAMETERS: Final = frozenset({"parameters", "named_parameters"})
_IN_PLACE: Final = frozenset({"copy_", "mul_", "add_", "lerp_", "sub_"})
_STATE: Final = frozenset({"state_dict", "keys", "items"})


class MovedBy(Enum):
    """How each parameter is moved."""

    SUM = "sum"
    """Tensors are made in between: ``tau * source``."""
    CALLS = "calls"
    """Some in place, without any: ``mul_`` and ``add_`` with ``alpha``."""
    ONE_CALL = "one call"
    """``lerp_``, ``copy_``."""


@dataclass(frozen=True, slots=True)
class TargetUpdate:
    line: int
    """Of the loop."""
    moved_by: MovedBy


@lru_cache(maxsize=PARSED_FILES)
def target_updates(text: str) -> Mapping[int, TargetUpdate]:
    """The loops by their lines; empty when ``text`` cannot be read."""
    module = parse(text) if "parameters()" in text or "state_dict()" in text else None
    if module is None:
        return {}
    state_names = frozenset(_holding_states(ast.walk(module.tree)))
    found: dict[int, TargetUpdate] = {}
    for loop in ast.walk(module.tree):
        if not isinstance(loop, ast.For):
            continue
        moves = [it for it in loop.body if _moves(it, loop, state_names)]
        if moves and len(moves) == len(loop.body):
            last = loop.end_lineno or loop.lineno
            update = TargetUpdate(loop.lineno, _moved_by(moves, _names_of(loop)))
            found |= dict.fromkeys(range(loop.lineno, last + 1), update)
    return found


def _moves(statement: ast.stmt, loop: ast.For, state_names: frozenset[str]) -> bool:
    """Whether a statement of the loop changes a parameter of one network by that of another."""
    names = _names_of(loop)
    if _zips_parameters(loop.iter):
        # What a gradient moves is a network that learns.
        if any(isinstance(it, ast.Attribute) and it.attr == "grad" for it in ast.walk(statement)):
            return False
        if isinstance(statement, ast.Assign):
            return any(_is_data_of(it, names) for it in statement.targets)
        return isinstance(statement, ast.Expr) and _changes_parameter(statement.value, names)
    if not _goes_through_state(loop.iter, state_names) or not isinstance(statement, ast.Assign):
        return False
    reads = [it for it in ast.walk(statement.value) if _is_item(it, names)]
    return bool(reads) and all(_is_item(it, names) for it in statement.targets)


def _changes_parameter(expression: ast.expr, names: set[str]) -> bool:
    """Whether it is in-place calls, one on what the other gives, on a parameter or its ``data``."""
    changed = expression
    while isinstance(changed, ast.Call) and isinstance(changed.func, ast.Attribute):
        if changed.func.attr not in _IN_PLACE:
            return False
        changed = changed.func.value
    is_name = isinstance(changed, ast.Name) and changed.id in names
    return changed is not expression and (is_name or _is_data_of(changed, names))


def _names_of(loop: ast.For) -> set[str]:
    return {it.id for it in ast.walk(loop.target) if isinstance(it, ast.Name)}


def _moved_by(moves: Iterable[ast.stmt], names: set[str]) -> MovedBy:
    nodes = [it for statement in moves for it in ast.walk(statement)]
    if any(isinstance(it, ast.BinOp) and _mentions(it, names) for it in nodes):
        return MovedBy.SUM
    in_place = [it for it in nodes if isinstance(it, ast.Call) and called_name(it) in _IN_PLACE]
    return MovedBy.ONE_CALL if len(in_place) == 1 else MovedBy.CALLS


def _mentions(operation: ast.BinOp, names: set[str]) -> bool:
    """Whether an operation is one on a parameter, and not ``1 - tau``."""
    return any(isinstance(it, ast.Name) and it.id in names for it in ast.walk(operation))


def _zips_parameters(iterated: ast.expr) -> bool:
    if not isinstance(iterated, ast.Call) or called_name(iterated) != "zip":
        return False
    given = [it for it in iterated.args if isinstance(it, ast.Call)]
    return len(given) == 2 and all(called_name(it) in _PARAMETERS for it in given)


def _goes_through_state(iterated: ast.expr, state_names: frozenset[str]) -> bool:
    while isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute):
        if iterated.func.attr == "state_dict":
            return True
        if iterated.func.attr not in _STATE:
            return False
        iterated = iterated.func.value
    return isinstance(iterated, ast.Name) and iterated.id in state_names


def _holding_states(nodes: Iterable[ast.AST]) -> Iterable[str]:
    for node in nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="state_dict"))
            ):
                yield name


def _is_item(node: ast.AST, names: set[str]) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Name)
        and node.slice.id in names
    )


def _is_data_of(target: ast.expr, names: set[str]) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and target.attr == "data"
        and isinstance(target.value, ast.Name)
        and target.value.id in names
    )
