"""Follow an episode that a statement plays: to a score that is only told, or to something that the training goes by."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from rlprof.detectors.recognisers.outputs.deciding import ADDS, decides, values_in
from rlprof.syntax.module import (
    SourceModule,
    Statement,
    called_name,
    variables_assigned,
    variables_read,
)
from rlprof.syntax.nodes import given_to

_MOST_ROUNDS: Final = 4
"""Assignments that a score goes through before it is in what is worked on."""

_OF_TWO: Final = frozenset({"max", "min", "maximum", "minimum"})
_OF_NUMBERS: Final = frozenset({"sum", "len", "mean", "max", "min"})
"""Functions, built in or of numpy, that make one number of two, or of many."""


def makes_a_number(call: ast.Call) -> bool:
    return called_name(call) in _OF_NUMBERS


def is_summed_up(statement: Statement, module: SourceModule) -> bool:
    """Tell whether all that a statement of ``module`` assigns is read for parts of it or numbers, and not handed on as a whole:
    ``played.numel()``, ``played["reward"].sum()``, ``sum(rewards)``.
    """
    names = variables_assigned(*statement.expressions())
    whole = 0
    for each in module.of_function(statement.function):
        nodes = list(each.walk())
        parts = [node.value for node in nodes if isinstance(node, ast.Attribute | ast.Subscript)]
        for node in nodes:
            if isinstance(node, ast.Call) and makes_a_number(node):
                parts += node.args
        whole += sum(
            isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load)
            for node in nodes
        )
        whole -= sum(isinstance(part, ast.Name) and part.id in names for part in parts)
    return bool(names) and not whole


def is_learned_from(statement: Statement, module: SourceModule) -> bool:
    """Tell whether what a statement of ``module`` gives comes back to what it works on: ``scores = [play(centre + d) for d in noise]``, and the
    next centre is made of the scores.
    """
    worked_on = variables_read(*(tuple(values_in(statement)) or statement.expressions()))
    made = _made_of(statement, module)
    return bool(made & (worked_on - _kept_figures(statement))) or decides(statement, made, module)


def _kept_figures(statement: Statement) -> set[str]:
    """Variables that a statement compares with what it gives, and keeps: ``best = max(best, play())``."""
    return {
        argument.id
        for call in statement.calls()
        if called_name(call) in _OF_TWO
        for argument in call.args
        if isinstance(argument, ast.Name)
    } & variables_assigned(*statement.expressions())


def is_trained_on(statement: Statement, module: SourceModule) -> bool:
    """Tell whether what is made of a statement's result is differentiated, or handed to a function of the file, which may learn from it."""
    made = _made_of(statement, module)
    own = {function.node.name for function in module.functions}
    for each in module.of_function(statement.function):
        for call in each.calls() if each is not statement else ():
            if called_name(call) == "backward" and variables_read(call.func) & made:
                return True
            if called_name(call) in own and variables_read(*given_to(call)) & made:
                return True
    return False


def is_returned(statement: Statement, module: SourceModule) -> bool:
    """Tell whether the function hands on what is made of a statement's result."""
    made = _made_of(statement, module)
    return any(
        isinstance(each.node, ast.Return)
        and each.node.value is not None
        and (each is statement or bool(variables_read(each.node.value) & made))
        for each in module.of_function(statement.function)
    )


def _made_of(statement: Statement, module: SourceModule) -> set[str]:
    """Variables that hold what a statement gives, or what is made of it; lists that it is added to are among them."""
    turned = {
        name
        for part in statement.walk()
        if isinstance(part, ast.comprehension)
        for name in variables_assigned(part.target)
    }
    made = set(_given_something(statement)) - turned
    others = [each for each in module.of_function(statement.function) if each is not statement]
    for _ in range(_MOST_ROUNDS):
        for each in others:
            if variables_read(*values_in(each)) & made:
                made.update(_given_something(each))
    return made


def _given_something(statement: Statement) -> Iterator[str]:
    """Yield the variables that a statement assigns, stores an item in, or adds to."""
    yield from variables_assigned(*statement.expressions())
    for node in statement.walk():
        match node:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if (
                method in ADDS
            ):
                yield name
