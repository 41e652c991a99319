"""Answers of several networks of which one is used for each row."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Final

from rlprof.syntax.module import (
    SourceModule,
    Statement,
    called_name,
    variables_assigned,
    variables_read,
)
from rlprof.syntax.nodes import given_to, targets_given

_ALONG_AXIS: Final = frozenset({"gather", "take_along_dim", "take_along_axis"})
_COLLECTS: Final = frozenset({"append", "extend"})


def one_is_picked(module: SourceModule, turns: range) -> bool:
    """Tell whether of what the loop or comprehension on the lines ``turns`` puts together one is picked for each row, later in its function:
    ``torch.stack(means)[owner, rows]``, ``stack.gather(0, owner)``.
    """
    function = module.function_at(turns.start)
    counted = {name for loop in module.loops_around_all(turns.start) for name in _targets(loop)}
    answers: set[str] = set()
    for statement in module.of_function(function):
        if statement.last_line < turns.start:
            continue
        if any(_picks(node, answers, counted) for node in statement.walk()):
            return True
        if statement.first_line in turns or not answers.isdisjoint(variables_read(statement.node)):
            answers |= _given(statement)
    return False


def _targets(loop: ast.For | ast.AsyncFor | ast.While) -> set[str]:
    return set() if isinstance(loop, ast.While) else variables_assigned(loop.target)


def _given(statement: Statement) -> set[str]:
    """Return the variables that a statement gives a value, or adds to."""
    collected = {
        node.func.value.id
        for node in statement.walk()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _COLLECTS
        and isinstance(node.func.value, ast.Name)
    }
    # What a loop or a comprehension goes through, as the networks, is no answer.
    return collected | variables_assigned(*targets_given(statement.node))


def _picks(node: ast.AST, answers: Collection[str], counted: Collection[str]) -> bool:
    match node:
        case ast.Subscript(value=of, slice=ast.Tuple(elts=[first, second, *_])):
            # Both are arrays: a number, or a whole axis, picks one for all rows.
            return _is_of(of, answers) and all(
                _is_array(index, counted) for index in (first, second)
            )
        case ast.Call() if called_name(node) in _ALONG_AXIS:
            of, *rest = [node.func, *given_to(node)]
            along = [given.value for given in rest if isinstance(given, ast.Constant)]
            return 0 in along and any(_is_of(given, answers) for given in (of, *rest))
    return False


def _is_of(expression: ast.expr, answers: Collection[str]) -> bool:
    return not variables_read(expression).isdisjoint(answers)


def _is_array(index: ast.expr, counted: Collection[str]) -> bool:
    if isinstance(index, ast.Name):
        return index.id not in counted
    return isinstance(index, ast.Attribute | ast.Call)
