"""Loops that search a place by a running sum: ``for i in range(n): left -= weights[i]; if left <= 0: return i``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rlprof.source.container_types import PLAIN_CALLS
from rlprof.syntax.module import PARSED_FILES, called_name, parse, variables_assigned
from rlprof.syntax.nodes import calls_in, lines_of, names_in


@dataclass(frozen=True, slots=True)
class RunningSum:
    container: str
    """Container that is summed up, as written: ``self.weights``."""
    line: int
    """Line of the loop."""
    last_line: int


@lru_cache(maxsize=PARSED_FILES)
def running_sums(text: str) -> Mapping[int, RunningSum]:
    """The loops by their lines; empty when ``text`` cannot be read."""
    module = parse(text)
    found: dict[int, RunningSum] = {}
    for loop in ast.walk(module.tree) if module else ():
        container = _summed(loop) if isinstance(loop, ast.For) else ""
        if container and isinstance(loop, ast.For):
            lines = lines_of(loop)
            found |= dict.fromkeys(lines, RunningSum(container, lines[0], lines[-1]))
    return found


def _summed(loop: ast.For) -> str:
    """Return what the loop goes through until a sum of its items reaches something; empty for other loops."""
    calls = {called_name(call) for call in calls_in(loop)}
    if not calls <= PLAIN_CALLS - {"append"} or not all(map(_is_plain, loop.body)):
        return ""
    turn = variables_assigned(loop.target)
    sums = {
        statement.target.id: container
        for statement in loop.body
        if isinstance(statement, ast.AugAssign)
        and isinstance(statement.op, ast.Add | ast.Sub)
        and isinstance(statement.target, ast.Name)
        and (container := _item_of(statement.value, loop, turn))
    }
    for stop in loop.body:
        if isinstance(stop, ast.If) and any(
            isinstance(inner, ast.Return | ast.Break) for inner in stop.body
        ):
            tested = names_in(stop.test)
            if compared := tested & sums.keys():
                return sums[min(compared)]
    return ""


def _is_plain(statement: ast.stmt) -> bool:
    """Tell whether it does nothing but reckon with variables, or end the loop."""
    match statement:
        case ast.Assign(targets=targets):
            return all(isinstance(target, ast.Name) for target in targets)
        case ast.AugAssign(target=target):
            return isinstance(target, ast.Name)
        case ast.If(body=body, orelse=rest):
            return all(
                isinstance(inner, ast.Return | ast.Break) or _is_plain(inner)
                for inner in (*body, *rest)
            )
    return False


def _item_of(expression: ast.expr, loop: ast.For, turn: set[str]) -> str:
    """The container that ``expression`` is an item of, as the loop goes through it."""
    match expression:
        case ast.Subscript(value=container, slice=ast.Name(id=name)) if name in turn:
            return ast.unparse(container)
        case ast.Name(id=name) if name in turn:
            return next((ast.unparse(container) for container in _gone_through(loop.iter)), "")
    return ""


def _gone_through(iterated: ast.expr) -> Iterator[ast.expr]:
    """Yield what a loop over ``iterated`` takes items of."""
    match iterated:
        case ast.Call(func=ast.Name(id="enumerate"), args=[container, *_]):
            yield container
        case ast.Name() | ast.Attribute():
            yield iterated
