"""Scores that decide what is trained next: an object is told them and asked, or members of a population take over from others by them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final

from rlprof.syntax.module import (
    SourceModule,
    Statement,
    called_name,
    receiver,
    variables_assigned,
    variables_read,
)
from rlprof.syntax.nodes import assigned, calls_in, given_to, names_in, nodes_in

_MOST_ROUNDS: Final = 4
"""Assignments that an answer goes through before it is worked with."""

ADDS: Final = frozenset({"append", "extend", "add"})
"""Methods by which a list or a set is given something more."""
_SHOWS: Final = frozenset(
    {"float", "int", "str", "round", "format", "join", "sum", "len", "mean", "std", "max", "min", "abs"}
)  # fmt: skip
"""Calls that make a figure or a text of what they are given."""


def decides(statement: Statement, scores: Collection[str], module: SourceModule) -> bool:
    """Tell whether what ``statement`` gives, or ``scores`` that are made of it, decides what its function trains next."""
    body = module.of_function(statement.function)
    told = {
        on
        for each in body
        for on, given in _told(each, module)
        if not names_in(ast.parse(on)) & names_in(*_evaluated(statement))
        and (variables_read(*given) & set(scores) or (each is statement and any(calls_in(*given))))
    }
    own = {function.node.name for function in module.functions}
    return _is_asked(told, body, own) or _takes_over(statement, scores, module)


def _evaluated(statement: Statement) -> Iterator[ast.expr]:
    """Yield what the evaluation is given: not the list, or the object, that its result goes to."""
    for expression in statement.expressions():
        call = expression
        is_bare = isinstance(statement.node, ast.Expr) and isinstance(call, ast.Call)
        yield from given_to(call) if is_bare and isinstance(call, ast.Call) else [expression]


def _told(statement: Statement, module: SourceModule) -> Iterator[tuple[str, list[ast.expr]]]:
    """Yield the object, as it is written, whose method a statement calls for nothing but what it does, and what this is given."""
    match statement.node:
        case ast.Expr(ast.Call(func=ast.Attribute(value=on, attr=name)) as call) if (
            name not in ADDS and not names_in(on) & set(module.imports)
        ):
            yield ast.unparse(on), given_to(call)


def _is_asked(told: Collection[str], body: Collection[Statement], own: Collection[str]) -> bool:
    """Tell whether somebody works, turn by turn, with what one of ``told`` answers: ``env = envs[teacher.draw()]`` and ``env.reset()``."""
    turns = [each for each in body if each.in_loop or isinstance(each.node, ast.For)]
    answers: set[str] = set()
    for _ in range(_MOST_ROUNDS if told else 0):
        for each in turns:
            values = list(values_in(each))
            is_answered = any(_asks(call, told) for call in calls_in(*values))
            if is_answered or variables_read(*values) & answers:
                answers |= variables_assigned(*each.expressions())
    worked = [call for each in turns for call in calls_in(*values_in(each))]
    worked += [call for each in turns for call in each.calls() if called_name(call) in own]
    return any(
        variables_read(*_parts(call)) & answers
        or any(_asks(inner, told) for inner in calls_in(*given_to(call)))
        for call in worked
        if called_name(call) not in _SHOWS
    )


def _parts(call: ast.Call) -> list[ast.expr]:
    on = receiver(call)
    return given_to(call) if on is None else [on, *given_to(call)]


def _asks(call: ast.Call, told: Collection[str]) -> bool:
    on = receiver(call)
    return on is not None and ast.unparse(on) in told


def values_in(statement: Statement) -> Iterator[ast.expr]:
    """Yield what a statement assigns, goes through, or adds to a list."""
    match statement.node:
        case (
            ast.Assign(value=ast.expr() as value)
            | ast.AnnAssign(value=ast.expr() as value)
            | ast.AugAssign(value=value)
            | ast.For(iter=value)
        ):
            yield value
    for call in calls_in(*statement.expressions()):
        if called_name(call) in ADDS:
            yield from given_to(call)


def _takes_over(statement: Statement, scores: Collection[str], module: SourceModule) -> bool:
    """Tell whether members of what the evaluation goes through are changed by others that were picked by the scores:
    ``worst.load_state_dict(best.state_dict())``.
    """
    around = [loop.iter for loop in module.loops_around(statement.first_line)]
    gone_through = variables_read(*around, *statement.expressions())
    body = module.of_function(statement.function)
    picked: set[str] = set()
    for each in body:
        for given in assigned(each.node):
            if isinstance(given.target, ast.Name) and _picks(given.value, gone_through, scores):
                picked.add(given.target.id)
    return any(_changes(each, gone_through, picked, scores) for each in body)


def _picks(value: ast.expr, members: Collection[str], scores: Collection[str]) -> bool:
    return any(
        isinstance(part, ast.Subscript)
        and bool(names_in(part.value) & set(members))
        and bool(names_in(part.slice) & set(scores))
        for part in nodes_in(value)
    )


def _changes(
    statement: Statement, members: Collection[str], picked: Collection[str], scores: Collection[str]
) -> bool:
    """Tell whether a picked member, or a place among the members, is given something of a picked one."""

    def is_picked(part: ast.expr) -> bool:
        return bool(names_in(part) & set(picked)) or _picks(part, members, scores)

    match statement.node:
        case ast.Expr(ast.Call(func=ast.Attribute(value=on)) as call):
            return is_picked(on) and any(map(is_picked, given_to(call)))
        case ast.Assign(targets=[ast.Attribute(value=on)], value=value):
            return is_picked(on) and is_picked(value)
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            return _picks(target, members, scores) and is_picked(value)
    return False
