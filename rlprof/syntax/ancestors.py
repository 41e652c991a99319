"""Read the surroundings of a piece of a file: the loops that run it in each of their turns, and what may keep it from running."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from rlprof.syntax.module import PARSED_FILES, Comprehension, SourceModule, Statement

Turned = ast.For | Comprehension


class Around(NamedTuple):
    """The loops around a piece of a function."""

    loops: tuple[Turned, ...]
    """Those each of whose turns comes to it, the innermost first."""
    is_conditional: bool
    """True if not each call of the function does."""


@lru_cache(maxsize=PARSED_FILES)
def parents(module: SourceModule) -> Mapping[ast.AST, ast.AST]:
    """Return what each node of the file's syntax tree is a part of."""
    return {child: node for node in ast.walk(module.tree) for child in ast.iter_child_nodes(node)}


def around(module: SourceModule, statement: Statement, node: ast.expr) -> Around:
    """Return the loops around ``node``, which is a part of ``statement``."""
    loops: list[Turned] = []
    guards = max((condition.lineno for condition in statement.conditions), default=0)
    for child, parent in _upwards(module, node):
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            return Around(tuple(loops), guards > 0)
        if _may_leave_out(parent, child):
            return Around(tuple(loops), is_conditional=True)
        loop = _turned(parent, child)
        if loop is not None:
            if guards > loop.lineno:
                return Around(tuple(loops), is_conditional=True)
            loops.append(loop)
    return Around(tuple(loops), is_conditional=True)


def _upwards(module: SourceModule, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    known = parents(module)
    while (parent := known.get(node)) is not None:
        yield node, parent
        node = parent


def _may_leave_out(parent: ast.AST, child: ast.AST) -> bool:
    """Tell whether ``child`` need not run where ``parent`` does, or not as often."""
    match parent:
        case ast.If(test=test) | ast.IfExp(test=test):
            return child is not test
        case ast.BoolOp(values=[begins, *_]):
            return child is not begins
        case (
            ast.ListComp(generators=[first, *_])
            | ast.SetComp(generators=[first, *_])
            | ast.DictComp(generators=[first, *_])
            | ast.GeneratorExp(generators=[first, *_])
        ):
            return bool(first.ifs) and child is not first
        case ast.For(iter=through, orelse=others):
            return child is not through and child in others
    return isinstance(
        parent,
        ast.While | ast.AsyncFor | ast.Try | ast.ExceptHandler | ast.match_case | ast.Match | ast.Lambda | ast.Assert
        | ast.AsyncWith | ast.ClassDef,
    )  # fmt: skip


def _turned(parent: ast.AST, child: ast.AST) -> Turned | None:
    """Return ``parent`` where it is a loop, each of whose turns runs ``child``."""
    if isinstance(parent, ast.For):
        return parent if child in parent.body else None
    if isinstance(parent, Comprehension):
        # What the first generator goes through runs once; of several only the whole is known.
        return parent if not isinstance(child, ast.comprehension) else None
    return None
