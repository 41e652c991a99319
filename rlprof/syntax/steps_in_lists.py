"""Calls that step each environment of a list: ``[env.step(action) for env, action in zip(envs, actions)]``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rlprof.syntax.loop_elements import elements
from rlprof.syntax.module import Statement
from rlprof.syntax.nodes import given_to
from rlprof.syntax.operands import steps_to

_FIRST: Final = "i0"
"""The first item of a list, by the steps of an ``Operand``."""


class StepCall(NamedTuple):
    text: str
    """As Python would write it: ``world.step(action)``."""
    method: str
    owner: tuple[str, ...]
    """The object, by the steps of an ``Operand``: of a list the first."""
    lines: range
    """Those of its statement."""
    is_of_a_list: bool = False
    """True if each environment of a list is stepped."""


class _Called(NamedTuple):
    """A method of each item of a list."""

    of: str
    """The list."""
    call: ast.Call
    method: str
    owner: tuple[str, ...]


def listed_steps(own: Sequence[Statement]) -> Iterator[tuple[Statement, StepCall]]:
    """Yield those of the statements of a function that make a list of what the calls return, where another method of the same list's items is
    called as well: one that begins.
    """
    called = [(statement, each) for statement in own for each in _called(statement)]
    for statement, each in called:
        others = {other.method for _, other in called if other.of == each.of} - {each.method}
        if others and each.owner and given_to(each.call) and _is_kept(statement, each.call):
            owner = (*each.owner, _FIRST)
            step = StepCall(ast.unparse(each.call), each.method, owner, statement.lines, True)
            yield statement, step


def _is_kept(statement: Statement, call: ast.Call) -> bool:
    """Tell whether the statement assigns the list of what ``call`` returns, or zips it at once."""
    value = statement.node.value if isinstance(statement.node, ast.Assign) else None
    match value:
        case ast.Call(func=ast.Name(id="zip"), args=[ast.Starred(value=inner)]):
            value = inner
    return isinstance(value, ast.ListComp | ast.GeneratorExp) and value.elt is call


def _called(statement: Statement) -> Iterator[_Called]:
    for node in statement.walk():
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            yield from _methods(node.generators[0].target, node.generators[0].iter, node.elt)
    if isinstance(statement.node, ast.For):
        yield from _methods(statement.node.target, statement.node.iter, *statement.node.body)


def _methods(target: ast.expr, through: ast.expr, *done: ast.AST) -> Iterator[_Called]:
    items = dict(elements(target, through))
    for part in done:
        for node in ast.walk(part):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if (
                    name in items
                ):
                    container = items[name]
                    yield _Called(ast.unparse(container), node, method, steps_to(container))
