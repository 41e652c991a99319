"""Products of arrays that are added up: dot products, and those of matrices."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from rlprof.source.value import Value
from rlprof.source.values import callee
from rlprof.syntax.module import SourceModule
from rlprof.syntax.nodes import given_to

_FUNCTIONS: Final = frozenset(
    {"numpy.dot", "numpy.matmul", "numpy.inner", "numpy.vdot", "numpy.outer", "numpy.einsum"}
)


def factors_of(
    node: ast.AST, values: Mapping[str, Value], module: SourceModule | None
) -> Sequence[ast.expr]:
    """The factors of ``weights @ features``, ``weights.dot(features)`` and calls of numpy's products; none of anything else."""
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return left, right
        case ast.Call(func=ast.Attribute(value=owner, attr="dot"), args=[other]):
            return owner, other
        case ast.Call() if callee(node, values, module).name in _FUNCTIONS:
            return given_to(node)
    return ()
