"""Tell what a file writes to: the results of which functions, which variables and attributes, and what a function has made itself."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from rlprof.syntax.gone_through import loops_through
from rlprof.syntax.module import (
    PARSED_FILES,
    Function,
    SourceModule,
    Statement,
    variables_assigned,
)
from rlprof.syntax.nodes import assigned, items_of, nodes_in, single_targets
from rlprof.syntax.pure_calls import (
    is_made_to_be_written,
    makes,
    makes_all,
    worked_on,
    written_by,
)

_MOST_NAMES: Final = 3
"""Names on the way from one to what it stands for."""


def made_by(
    node: ast.FunctionDef, assigned: Collection[str], arguments: Collection[str]
) -> set[str]:
    """Variables that never share memory with what was there before the call."""
    made = set(assigned).difference(arguments)
    pairs = list(_assignments(node))
    while True:
        shared = {
            name
            for target, value in pairs
            if value is None or not makes(value, made)
            for name in variables_assigned(target)
        }
        if shared.isdisjoint(made):
            return made
        made -= shared


def with_parts_of_others(node: ast.FunctionDef) -> set[str]:
    """Variables that hold a new container of what may have been there before: ``list(rows)``, ``[row for row in rows]``."""
    return {
        name
        for target, value in _assignments(node)
        if not makes_all(value)
        for name in variables_assigned(target)
    }


def _assignments(node: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield targets with their values; None for what a loop goes through, and for parts of a value."""
    for inner in ast.walk(node):
        match inner:
            case (
                ast.For(target=target)
                | ast.comprehension(target=target)
                | ast.AnnAssign(target=target, value=None)
            ):
                yield target, None
        for each in assigned(inner):
            yield each.target, None if each.is_unpacked else each.value


def result_is_kept(module: SourceModule, node: ast.FunctionDef) -> bool:
    """Tell whether nobody in the file writes to what the function returns; a new container that is handed on may well be."""
    targets = _assigned_by_calls(module).get(node.name, ())
    if any(is_changed(module, around, target) for target, around in targets):
        return False
    filled = {
        ast.unparse(target)
        for target, value in _assignments(node)
        if value is not None and is_made_to_be_written(value)
    }
    hands_out = any(
        isinstance(inner, ast.Return)
        and inner.value is not None
        and (is_made_to_be_written(inner.value) or ast.unparse(inner.value) in filled)
        for inner in ast.walk(node)
    )
    return bool(targets) or not hands_out or _is_gone_through(module, node.name)


def _is_gone_through(module: SourceModule, name: str) -> bool:
    """Tell whether what the functions of that name give is gone through at once, everywhere in the file, and none of its items changed."""
    through = loops_through([module], name)
    return bool(through) and not any(
        is_changed(module, each.function, target)
        for each in through or ()
        for target in single_targets(each.target)
    )


_Assigned = tuple[ast.expr, Function | None]
"""A target, and the function that it is in."""


@lru_cache(maxsize=PARSED_FILES)
def _assigned_by_calls(module: SourceModule) -> Mapping[str, Sequence[_Assigned]]:
    """Return what the results of functions are assigned to, by the name that is called, or read as a property."""
    found: dict[str, list[_Assigned]] = defaultdict(list)
    for statement in module.statements:
        match statement.node:
            case ast.Assign(
                targets=targets,
                value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))
                | ast.Attribute(attr=name),
            ):
                for target in targets:
                    parts = items_of(target)
                    found[name] += ((part, statement.function) for part in parts)
            case ast.AnnAssign(
                target=target,
                value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))
                | ast.Attribute(attr=name),
            ):
                found[name].append((target, statement.function))
    return found


def is_changed(module: SourceModule, function: Function | None, target: ast.expr) -> bool:
    """Tell whether what ``target`` names is changed in place: a variable in its function, an attribute anywhere in the file, whosever
    it is there.
    """
    changed = changed_in(module)
    if isinstance(target, ast.Attribute):
        return any(text.endswith(f".{target.attr}") for text in changed)
    return function in changed.get(ast.unparse(target), ())


@lru_cache(maxsize=PARSED_FILES)
def changed_in(module: SourceModule) -> Mapping[str, Collection[Function | None]]:
    """Return what the statements of a file change in place, as written, with the functions that do it."""
    found: dict[str, set[Function | None]] = defaultdict(set)
    for statement in module.statements:
        targets: list[ast.expr] = []
        match statement.node:
            case ast.AugAssign(target=target):
                targets.append(target)
            case ast.Assign(targets=several) | ast.Delete(targets=several):
                parts = list(nodes_in(*several))
                targets += (part for part in parts if isinstance(part, ast.Subscript))
        for node in statement.walk():
            if isinstance(node, ast.Call):
                targets += written_by(node)
            elif isinstance(node, ast.Attribute) and node.attr == "data":
                targets.append(node.value)  # torch counts no change through it.
        for changed in targets:
            found[_whole(changed)].add(statement.function)
    _follow_names(module.statements, found)
    return found


def _follow_names(
    statements: Sequence[Statement], changed: dict[str, set[Function | None]]
) -> None:
    """Add what has another name where that is changed: ``board = self.board; board[0] = 1``."""
    named = [
        (variable, _whole(value), statement.function)
        for statement in statements
        for target, value in _named_by(statement.node)
        for variable in variables_assigned(target)
    ]
    for _ in range(_MOST_NAMES):
        for variable, whole, function in named:
            if function in changed.get(variable, ()):
                changed[whole].add(function)


def _named_by(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.For(target=target, iter=ast.Call(args=values)):
            yield from ((target, value) for value in values)
        case ast.For(target=target, iter=value):
            yield target, value
        case _:
            yield from (
                (assignment.target, assignment.value)
                for assignment in assigned(node)
                if not assignment.is_unpacked
            )


def _whole(node: ast.expr) -> str:
    """Return what ``node`` is a part of, or another shape of: ``self.board`` of ``self.board[0].reshape(-1)``."""
    while isinstance(node, ast.Subscript) or worked_on(node) is not node:
        node = node.value if isinstance(node, ast.Subscript) else worked_on(node)
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
