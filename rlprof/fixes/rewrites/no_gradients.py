"""Compute without gradients where only the answer of a network is used."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

import libcst as cst

from rlprof.fixes.base import CannotFixError, Case, Fix, Place, Rewriting
from rlprof.fixes.source_tree import SourceTree, rewritten
from rlprof.source.value import Value

_ENDS_OTHERWISE: Final = (
    cst.Await,
    cst.Yield,
    cst.Import,
    cst.ImportFrom,
    cst.Global,
    cst.Nonlocal,
    cst.Lambda,
    cst.GeneratorExp,
)
"""Statements that are no computation, and those whose values are computed later, outside of the block."""


def _rewrite(case: Case) -> Rewriting:
    return rewritten(case, _change)


def _change(tree: SourceTree, place: Place) -> None:
    statement = tree.simple_statement(place.line)
    if any(isinstance(node, _ENDS_OTHERWISE) for node in tree.own_nodes(statement)):
        raise CannotFixError("its statement does more than compute")
    calls = [tree.expression(call) for call in tree.calls(statement)]
    asked = {
        ast.unparse(call.func)
        for call in calls
        if isinstance(call, ast.Call) and _asks_network(call, place.known)
    }
    if len(asked) > 1:
        raise CannotFixError(
            f"several networks are asked on its line ({', '.join(sorted(asked))}), of which one may learn from the answer"
        )
    if any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("backward", "requires_grad_")
        for call in calls
    ):
        raise CannotFixError("gradients are computed on its line")
    if not tree.is_changed(statement):
        tree.put_into(statement, f"with {tree.name_of('torch', 'torch')}.no_grad():")


def _asks_network(call: ast.Call, known: Mapping[str, Value]) -> bool:
    parts = [call.func]
    if isinstance(call.func, ast.Attribute):
        parts.append(call.func.value)
    return any(
        (seen := known.get(ast.unparse(part))) is not None and seen.is_network for part in parts
    )


FIX: Final = Fix(
    id="no-gradients",
    does="computes the statement in a block of torch.no_grad()",
    findings=frozenset({"grads-in-rollout"}),
    rewrite=_rewrite,
    reads_functions=True,
)
