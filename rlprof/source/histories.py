"""Tell whether a tensor holds what an episode has seen so far: made anew of a list that is added to, or the filled part of a buffer."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.source.recurrence import is_call_of
from rlprof.source.value import Value
from rlprof.syntax.assignments import assigned
from rlprof.syntax.bound_inputs import arguments_given
from rlprof.syntax.module import PARSED_FILES, SourceModule, Statement, called_name

JOINS: Final = frozenset({"stack", "cat", "concatenate", "vstack", "array", "asarray", "tensor", "as_tensor", "FloatTensor"})  # fmt: skip
"""Functions that make one tensor or array of the elements of a list."""

_ADDS: Final = frozenset({"append", "extend"})


class Level(NamedTuple):
    """A statement that calls the one below it, and what was seen there."""

    module: SourceModule
    statement: Statement
    known: Mapping[str, Value]


def is_history(given: ast.expr, levels: Sequence[Level]) -> bool:
    """Tell whether ``given`` is made of one; ``levels`` begin with the statement that it is in, and go on with those that call its function."""
    return _is_history(given, levels, frozenset())


def _is_history(given: ast.expr, levels: Sequence[Level], seen: frozenset[str]) -> bool:
    if not levels:
        return False
    module = levels[0].module
    for part in ast.walk(given):
        match part:
            case ast.Call(args=[joined, *_]) if called_name(part) in JOINS:
                if ast.unparse(_gone_through(joined)) in _added_to(module):
                    return True
            case ast.Subscript(slice=taken):
                axes = taken.elts if isinstance(taken, ast.Tuple) else [taken]
                if any(map(_is_filled_part, axes)):
                    return True
            case ast.Name(id=name) if name not in seen:
                made = [*_values_of(name, levels[0])]
                if any(_is_history(it, levels, seen | {name}) for it in made):
                    return True
                handed = None if made else _handed_over(name, levels)
                if handed is not None and _is_history(handed, levels[1:], frozenset()):
                    return True
            case ast.Attribute() if ast.unparse(part) in _grown_by_joining(module):
                return True
    return False


def _gone_through(joined: ast.expr) -> ast.expr:
    """``seen`` of ``[encode(it) for it in seen]``, of ``list(seen)`` and of ``seen`` itself."""
    match joined:
        case ast.ListComp(generators=[first]) | ast.GeneratorExp(generators=[first]):
            return _gone_through(first.iter)
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[whole]):
            return _gone_through(whole)
        case ast.Call(args=[inner, *_]) if called_name(joined) in JOINS:
            return _gone_through(inner)
    return joined


def _is_filled_part(index: ast.expr) -> bool:
    """Tell ``[:t + 1]`` from ``[:8]`` and from ``[-8:]``."""
    return (
        isinstance(index, ast.Slice)
        and index.lower is None
        and index.step is None
        and isinstance(index.upper, ast.Name | ast.Attribute | ast.BinOp)
    )


def _values_of(name: str, level: Level) -> Iterator[ast.expr]:
    """Yield what the function of a level assigns to a variable."""
    for statement in level.module.statements:
        if statement.function is level.statement.function:
            for each in assigned(statement.node):
                if isinstance(each.target, ast.Name) and each.target.id == name:
                    yield each.value


def _handed_over(name: str, levels: Sequence[Level]) -> ast.expr | None:
    """Return what the level above gives for an argument."""
    function = levels[0].statement.function
    if function is None or len(levels) < 2:
        return None
    above = levels[1]
    for call in above.statement.walk():
        if isinstance(call, ast.Call) and is_call_of(call, function, above.known):
            return (arguments_given(above.module, call, function) or {}).get(name)
    return None


@lru_cache(maxsize=PARSED_FILES)
def _added_to(module: SourceModule) -> frozenset[str]:
    """Texts of the lists that a file adds to, one element at a time or several."""
    return frozenset(
        ast.unparse(node.func.value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _ADDS
    )


@lru_cache(maxsize=PARSED_FILES)
def _grown_by_joining(module: SourceModule) -> frozenset[str]:
    """Texts of the attributes that are joined with something and assigned again: ``self.seen = torch.cat([self.seen, new])``."""
    joined = (
        (ast.unparse(each.target), each.value)
        for node in ast.walk(module.tree)
        for each in assigned(node)
        if isinstance(each.target, ast.Attribute)
        and isinstance(each.value, ast.Call)
        and called_name(each.value) in JOINS
    )
    return frozenset(
        text
        for text, value in joined
        if any(isinstance(it, ast.Attribute) and ast.unparse(it) == text for it in ast.walk(value))
    )
