"""Assignments of a source file: their targets, and each target with its value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple


class Assigned(NamedTuple):
    """One target with its value."""

    target: ast.expr
    value: ast.expr
    is_unpacked: bool
    """True if the target gets a part of the value, and the source does not show which: ``a`` in ``a, b = pair``."""


def targets_of(node: ast.AST) -> list[ast.expr]:
    """The targets of an assignment, annotated or not; none of anything else."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def assigned(node: ast.AST) -> Iterator[Assigned]:
    """Yield what an assignment assigns, annotated or not; nothing for an annotation without a value."""
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        for target in targets_of(node):
            yield from unpacked(target, node.value)


def unpacked(target: ast.expr, value: ast.expr) -> Iterator[Assigned]:
    """Yield the single targets: ``a`` with ``1`` and ``b`` with ``2`` for ``a, b = 1, 2``, both with ``pair`` for ``a, b = pair``."""
    if not isinstance(target, ast.Tuple | ast.List):
        yield Assigned(target, value, is_unpacked=False)
    elif isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        for part, given in zip(target.elts, value.elts, strict=True):
            yield from unpacked(part, given)
    else:
        for part in single_targets(target):
            yield Assigned(part, value, is_unpacked=True)


def single_targets(*targets: ast.expr) -> Iterator[ast.expr]:
    """Yield ``a``, ``b`` and ``c`` of ``a, (b, c)``."""
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            yield from single_targets(*target.elts)
        else:
            yield target
