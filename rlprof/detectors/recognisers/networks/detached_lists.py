"""Find attributes that hold lists from which nothing is learned: whatever reads one cuts its graph off at once."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rlprof.detectors.recognisers.networks.graph_asked import (
    differentiates,
    is_of_a_known_module,
    reads_only,
)
from rlprof.source.slices.named_tuples import fields_read, tuple_fields
from rlprof.syntax.ancestors import parents
from rlprof.syntax.module import SourceModule, called_name
from rlprof.syntax.nodes import assigned

_FILLS: Final = frozenset({"append", "clear"})
_CUTS: Final = frozenset({"detach", "item", "tolist", "numpy"})
_FORMS: Final = frozenset(
    {"to", "cpu", "cuda", "float", "double", "view", "reshape", "squeeze", "unsqueeze", "flatten"}
)
"""Methods that give the tensor in another form, with its graph."""

_READS_BY_NAME: Final = frozenset(
    {"getattr", "vars", "asdict", "astuple", "attrgetter", "__dict__"}
)
"""Whoever uses one of them may read an attribute without writing its name."""


def detached_lists(modules: Iterable[SourceModule]) -> frozenset[str]:
    """Return their names: of ``memory.logprobs`` where all that reads it is as ``torch.stack(memory.logprobs).detach()``."""
    detached, others = set[str](), set[str]()
    read = list(modules)
    tuples = tuple_fields(read)
    for module in read:
        nodes = list(ast.walk(module.tree))
        if any(isinstance(node, ast.Name) and node.id in _READS_BY_NAME for node in nodes):
            return frozenset()
        around = parents(module)
        for node in nodes:
            others |= set(fields_read(node, tuples))
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                others |= set(_given_otherwise(node))
            if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
                continue
            if node.attr in _READS_BY_NAME:
                return frozenset()
            if _is_cut(node, around):
                detached.add(node.attr)
            elif not _is_filled(node, around):
                others.add(node.attr)
    return frozenset(detached - others)


def _given_otherwise(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[str]:
    """Yield the attributes that are given something else than a new list, which somebody may have by another name."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
        yield node.target.attr
    for each in assigned(node):
        is_new = not each.is_unpacked and isinstance(each.value, ast.List) and not each.value.elts
        if isinstance(each.target, ast.Attribute) and not is_new:
            yield each.target.attr


def _is_filled(node: ast.Attribute, around: Mapping[ast.AST, ast.AST]) -> bool:
    """Tell ``memory.logprobs.append(…)``, and what asks for the length."""
    over = around.get(node)
    if isinstance(over, ast.Attribute):
        return over.attr in _FILLS and isinstance(around.get(around[over]), ast.Expr)
    return isinstance(over, ast.Call) and reads_only(over) and called_name(over) == "len"


def _is_cut(node: ast.expr, around: Mapping[ast.AST, ast.AST]) -> bool:
    """Tell whether functions of torch make a tensor of it that is detached there and then."""
    is_made = False
    while True:
        over = around.get(node)
        if isinstance(over, ast.keyword):
            over = around.get(over)
        match over:
            case ast.Call() if (
                over.func is not node and is_of_a_known_module(over) and not differentiates(over)
            ):
                node, is_made = over, True
            case ast.Attribute(attr=name) if (
                is_made and isinstance(call := around.get(over), ast.Call) and call.func is over
            ):
                if name in _CUTS:
                    return True
                if name not in _FORMS:
                    return False
                node = call
            case _:
                return False
