"""Names of one function and their values, for following a graph through it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rlprof.detectors.recognisers.graph_names import CUT_ATTRIBUTES
from rlprof.source.written_names import ARRAY_MODULES, root_name
from rlprof.syntax.module import (
    PARSED_FILES,
    Function,
    FunctionNode,
    SourceModule,
    called_name,
    variables_assigned,
    variables_read,
)

_EMPTY: Final = frozenset(
    {"list", "dict", "set", "deque", "defaultdict", "zeros", "empty", "ones", "zeros_like"}
)
"""Functions that make a container, or a tensor to write into."""

_PREPARE: Final = frozenset({"to", "cuda", "cpu", "double", "float", "half", "train", "eval"})
"""Methods of networks that give the network."""

_MAY_BE_OWN: Final = frozenset({"data", "indices"})
"""Attributes of tensors that a class of a program's may have for something else."""


@dataclass(frozen=True, slots=True)
class Scope:
    fresh: frozenset[str]
    """Containers that are made in the function: what is put into them is as they are."""
    shared: frozenset[str]
    """Parameters, and names for what an object or a container has: a list or a tensor of somebody else's."""
    read_elsewhere: frozenset[str]
    """Names that other functions have, too: those inside of it, and those of its module for what it calls global."""
    networks: frozenset[str]
    """What was seen, or is made, as a network, as written."""
    cuts: frozenset[str]
    """Attributes that have no graph."""
    strangers_keep: bool
    """True if functions that nothing is known of are taken to keep what they are given."""


def scope_of(
    module: SourceModule,
    function: Function | None,
    networks: frozenset[str],
    *,
    strangers_keep: bool,
) -> Scope:
    body: Sequence[ast.stmt] = function.node.body if function else module.tree.body
    nodes = list(_own_nodes(body))
    parameters = _parameters(function.node) if function else frozenset()
    given = list(_given(nodes))
    fresh = {name for name, value in given if _is_empty(value)}
    fresh -= {name for name, value in given if not _is_empty(value)}
    fresh -= {
        name
        for node in nodes
        if isinstance(node, ast.For | ast.AsyncFor | ast.With | ast.NamedExpr | ast.comprehension)
        for name in _targets(node)
    }
    outside = {
        name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
    }
    taken = {name for name, value in given if isinstance(value, ast.Attribute | ast.Subscript)}
    inner = (node for node in nodes if isinstance(node, FunctionNode))
    return Scope(
        fresh=frozenset(fresh - parameters - outside),
        shared=parameters | taken,
        read_elsewhere=frozenset(outside.union(*map(_read_from_outside, inner))),
        networks=networks | _made(module),
        cuts=_cuts(module),
        strangers_keep=strangers_keep,
    )


@lru_cache(maxsize=PARSED_FILES)
def _made(module: SourceModule) -> frozenset[str]:
    """Names that are given new objects and nothing else, ``critic = Critic(4).to(device)``: no function that learns."""
    given = list(_given(ast.walk(module.tree)))
    made = {name for name, value in given if _is_new_object(value)}
    return frozenset(made - {name for name, value in given if not _is_new_object(value)})


def _is_new_object(value: ast.expr) -> bool:
    while (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _PREPARE
    ):
        value = value.func.value
    is_class = isinstance(value, ast.Call) and called_name(value)[:1].isupper()
    return is_class and "optim" not in ast.unparse(value).lower()


@lru_cache(maxsize=PARSED_FILES)
def _cuts(module: SourceModule) -> frozenset[str]:
    """The attributes of tensors that have no graph, without those that the file gives to something else."""
    nodes = [*ast.walk(module.tree)]
    own = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    own |= {
        node.target.id
        for node in nodes
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    # The data of a packed sequence has its graph.
    packs = {node.id for node in nodes if isinstance(node, ast.Name)}
    packs |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    has_packed = any(pack.startswith("pack_") or pack == "PackedSequence" for pack in packs)
    return CUT_ATTRIBUTES - (own & _MAY_BE_OWN) - ({"data"} if has_packed else set())


def _own_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield all nodes of a function, without those inside of the functions that it defines."""
    ways = list(body)
    while ways:
        node = ways.pop()
        yield node
        if not isinstance(node, FunctionNode):
            ways.extend(ast.iter_child_nodes(node))


def _parameters(node: FunctionNode) -> frozenset[str]:
    return frozenset(part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg))


def _given(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Yield what plain names are assigned; what a name gets a part of stands for it."""
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from ((name, node.value) for name in sorted(variables_assigned(target)))
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            yield node.target.id, node.value


def _targets(
    node: ast.For | ast.AsyncFor | ast.With | ast.NamedExpr | ast.comprehension,
) -> set[str]:
    if isinstance(node, ast.With):
        return variables_assigned(
            *(item.optional_vars for item in node.items if item.optional_vars)
        )
    return variables_assigned(node.target)


def _is_empty(value: ast.expr) -> bool:
    """Tell what makes a new container, which nobody else has."""
    if isinstance(value, ast.Call):
        is_made_so = isinstance(value.func, ast.Name) or root_name(value.func) in ARRAY_MODULES
        return called_name(value) in _EMPTY and is_made_so
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp)


def _read_from_outside(function: FunctionNode) -> set[str]:
    """The names that a function reads and does not assign itself."""
    return (
        variables_read(*function.body) - variables_assigned(*function.body) - _parameters(function)
    )
