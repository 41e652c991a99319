"""Functions of a program that keep what a step gives, for somebody to learn from."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from rlprof.syntax.module import (
    Function,
    FunctionNode,
    SourceModule,
    called_name,
    variables_assigned,
    variables_read,
)
from rlprof.syntax.nodes import calls_in, given_to, lines_of, positional_of

KEEPS: Final = frozenset(
    {"append", "add", "push", "put", "store", "extend", "insert", "write", "record", "send", "remember"}
    | {"backward", "update", "learn", "train", "observe", "add_batch", "add_sample"}
)  # fmt: skip
"""Calls by which what an environment said is kept, or learned from, whatever they are given."""

OBSERVATION, REWARD = 0, 1
"""Their places in what a step gives."""


class Handed(NamedTuple):
    lines: range
    method: str
    place: int | str
    """Of the argument, or its name."""


def step_part(target: ast.expr, place: int) -> ast.expr:
    """Return what of a step's results is at ``place``; all of them where they are not taken apart."""
    is_apart = isinstance(target, ast.Tuple) and len(target.elts) > place
    return target.elts[place] if isinstance(target, ast.Tuple) and is_apart else target


def _kept_in(node: FunctionNode) -> set[str]:
    """The variables that a function puts into containers, by a call or as an item."""
    return variables_read(*_kept(node))


def _kept(node: FunctionNode) -> Iterator[ast.expr]:
    for part in ast.walk(node):
        match part:
            case ast.Call() if called_name(part) in KEEPS:
                yield from given_to(part)
            case ast.Assign(targets=targets, value=value) if any(
                isinstance(target, ast.Subscript) for target in targets
            ):
                yield value


def remembering_methods(modules: Iterable[SourceModule]) -> frozenset[tuple[str, int | str]]:
    """Return the methods that keep a parameter, each with its place, without ``self``, and with its name: ``("act", 1)`` and ``("act", "reward")``
    of an agent that adds the reward to what it learns from.
    """
    found: set[tuple[str, int | str]] = set()
    for function in (each for module in modules for each in module.functions):
        kept = _kept_in(function.node) if function.class_name else set()
        for place, name in enumerate(positional_of(function.node)[1:] if kept else ()):
            if name in kept:
                found |= {(function.node.name, place), (function.node.name, name)}
    return frozenset(found)


def records(module: SourceModule, function: Function, steps: Collection[ast.AST]) -> bool:
    """Tell whether a function steps what is wrapped, and keeps the reward with what it was given, the action."""
    targets = [
        each.node.targets[0]
        for each in module.of_function(function)
        if each.node in steps and not each.in_loop and isinstance(each.node, ast.Assign)
    ]
    rewards = variables_assigned(*(step_part(target, REWARD) for target in targets))
    kept = _kept_in(function.node) if targets else set()
    return bool(kept & rewards) and bool(kept & set(positional_of(function.node)))


def handed_on(loop: Iterable[ast.AST], steps: Collection[ast.AST]) -> Iterator[Handed]:
    """Yield what the statements of a loop hand of a step's results, but for the observation, to what they call for an answer."""
    own = [node for node in loop if isinstance(node, ast.Assign)]
    targets = [step.targets[0] for step in own if step in steps]
    seen = variables_assigned(*(step_part(target, OBSERVATION) for target in targets))
    given = variables_assigned(*targets) - seen
    for each in own:
        for call in calls_in(each.value):
            places = [*enumerate(call.args), *((part.arg, part.value) for part in call.keywords)]
            for place, argument in places:
                if place is not None and variables_read(argument) & given:
                    yield Handed(lines_of(each), called_name(call), place)
