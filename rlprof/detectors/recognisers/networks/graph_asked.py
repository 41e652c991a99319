"""Tell by what a graph of torch is asked, how it is used, and the names in whose scope that is decided."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from rlprof.syntax.imports import ARRAY_MODULES, FUNCTIONAL, root_name, stands_for
from rlprof.syntax.module import (
    PARSED_FILES,
    Function,
    FunctionNode,
    SourceModule,
    called_name,
    variables_assigned,
    variables_read,
)
from rlprof.syntax.nodes import calls_in, declared_elsewhere, first_name

_EMPTY: Final = frozenset(
    {"list", "dict", "set", "deque", "defaultdict", "zeros", "empty", "ones", "zeros_like"}
)
"""Functions that make a container, or a tensor to write into."""

_PREPARE: Final = frozenset({"to", "cuda", "cpu", "double", "float", "half", "train", "eval"})
"""Methods of networks that give the network."""

_MAY_BE_OWN: Final = frozenset({"data", "indices"})
"""Attributes of tensors that a class of a program's may have for something else."""

CUTS: Final = frozenset(
    {"detach", "item", "tolist", "numpy", "sample", "argmax", "argmin", "multinomial", "size"}
    | {"dim", "numel", "int", "bool", "long"}
)
"""Calls whose result has no graph: numbers, indices, drawn actions, whole numbers."""

CUT_ATTRIBUTES: Final = frozenset({"data", "shape", "device", "dtype", "indices", "ndim"})

STORES: Final = frozenset(
    {"append", "extend", "add", "insert", "push", "put", "put_nowait", "store", "send", "update"}
    | {"setattr", "record", "remember", "save", "appendleft", "setdefault", "write"}
)
"""Calls that keep what they are given."""

_WITH_INDICES: Final = frozenset({"max", "min", "sort", "topk"})
"""They give values and indices; an index has no graph."""

_CUTTING_BUILTINS: Final = frozenset(
    {"len", "float", "str", "repr", "print", "isinstance", "round", "int", "bool", "type", "id"}
)
"""They read a number; methods by these names, ``q.float()``, keep the graph."""

_BUILTINS: Final = _CUTTING_BUILTINS | frozenset(
    {"zip", "enumerate", "list", "tuple", "dict", "set", "sum", "max", "min", "sorted", "reversed"}
    | {"abs", "iter", "next", "range", "any", "all", "getattr", "pow", "divmod"}
)
_READING_NAMES: Final = frozenset(
    {"locals", "globals", "eval", "exec", "sys._getframe", "inspect.currentframe", "inspect.stack"}
)
"""Functions that give all names of whoever calls them, or may read any of them."""

_PURE_MODULES: Final = (
    ARRAY_MODULES | FUNCTIONAL | {"math", "itertools", "copy", "einops", "random", "operator"}
)
"""Functions of theirs keep nothing."""

_NO_ENVIRONMENT: Final = re.compile(
    r"optim|\bopt\b|_opt\b|sched|scaler|prof|accelerator|\bself$", re.I
)
"""Names of what else has a ``step``."""


class GraphUse(Enum):
    DROPPED = "dropped"
    """All of it is read and none is kept: nothing can ever go back through it."""
    RETURNED = "returned"
    """The caller has it."""
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class AskedAtLine:
    """Calls that give a graph: of a network, or of a function that returns one."""

    statements: frozenset[int] = frozenset()
    """Identities of the statements that call it."""
    name: str = ""
    """The function's; empty where it is not known, so that any call there may be it."""
    owners: frozenset[str] = frozenset()
    """What is called there and what that belongs to, as written: what else these have is of the same network."""

    calls: frozenset[int] = frozenset()
    """Identities of the calls that may be it, where its name is not known."""

    @classmethod
    def of(
        cls,
        nodes: Sequence[ast.stmt],
        own: Iterable[ast.AST],
        callee: str,
        defined: Callable[[ast.Call], bool],
    ) -> AskedAtLine:
        """``own`` are the syntax nodes on their own lines. Without a ``callee`` a network itself is called there, and nothing that is
        ``defined`` as a function of the program's.
        """
        here = list(own)
        found = [
            part
            for part in here
            if isinstance(part, ast.Name | ast.Attribute) and last_name_of(part) == callee
        ]
        calls = [
            call
            for call in here
            if isinstance(call, ast.Call) and may_be_network(call) and (callee or not defined(call))
        ]
        # What is given the answer of another one is what works on it.
        inner = [
            call
            for call in calls
            if not any(other is not call and other in ast.walk(call) for other in calls)
        ]
        asked: list[ast.expr] = [*found] or [call.func for call in inner]
        owners = {owner(call) for call in asked} | {ast.unparse(call) for call in asked}
        return cls(
            statements=frozenset(map(id, nodes)),
            name=callee if found else "",
            owners=frozenset(owners - {""}),
            calls=frozenset() if found else frozenset(map(id, inner)),
        )


def last_name_of(part: ast.AST) -> str:
    """``get`` of ``policy.get``; of an imported name its own."""
    if isinstance(part, ast.Attribute):
        return part.attr
    return stands_for(part).rpartition(".")[2] if isinstance(part, ast.Name) else ""


def is_environment_step(call: ast.Call) -> bool:
    return (
        called_name(call) == "step"
        and isinstance(call.func, ast.Attribute)
        and bool(call.args)
        and not _NO_ENVIRONMENT.search(ast.unparse(call.func.value))
    )


def is_of_a_known_module(call: ast.Call) -> bool:
    """Tell whether it calls a function of torch, numpy or another module that computes."""
    return root_name(call.func) in _PURE_MODULES


def reads_only(call: ast.Call) -> bool:
    """Tell a built-in function that gives a number or a text."""
    return isinstance(call.func, ast.Name) and stands_for(call.func) in _CUTTING_BUILTINS


def reads_all_names(call: ast.Call) -> bool:
    """Tell what may have the value of any name here: ``callback.on_step(locals())``."""
    match call.func:
        case ast.Name() as function:
            name = stands_for(function)
            return name in _READING_NAMES or (name == "vars" and not (call.args or call.keywords))
        case ast.Attribute(value=ast.Name() as module, attr=function):
            return f"{stands_for(module)}.{function}" in _READING_NAMES
    return False


def differentiates(call: ast.Call) -> bool:
    if called_name(call) in ("backward", "grad"):
        return True
    dotted = ast.unparse(call.func).split(".")
    if (name := first_name(call.func)) is not None:
        dotted = [*stands_for(name).split("."), *dotted[1:]]
    return dotted[0] == "torch" and not {"autograd", "func"}.isdisjoint(dotted)


def gives_graph_back(call: ast.Call) -> bool:
    """Tell what is sure to keep nothing of what it is given, but may give it back in some form."""
    return _computes(call) or called_name(call)[:1].isupper()


def _computes(call: ast.Call) -> bool:
    is_builtin = isinstance(call.func, ast.Name) and stands_for(call.func) in _BUILTINS
    return is_builtin or is_of_a_known_module(call) or is_environment_step(call)


def is_index(part: ast.Subscript) -> bool:
    """Tell the second of the two that ``q.max(1)`` gives."""
    return (
        isinstance(part.value, ast.Call)
        and called_name(part.value) in _WITH_INDICES
        and isinstance(part.slice, ast.Constant)
        and part.slice.value == 1
    )


def may_be_network(call: ast.Call) -> bool:
    """Tell what may be a network, or a function around one, when that is called on the line: what is called on the
    result of another call, ``q(x).max(1)``, is a method of what that gave.
    """
    function = call.func
    is_chained = isinstance(function, ast.Attribute) and any(calls_in(function.value))
    name = called_name(call)
    # Not by its case alone: networks are called self.V and Q_target, too.
    first = first_name(function)
    is_own = first is not None and first.id == "self"
    is_class = name[:1].isupper() and name[1:2].islower() and not is_own
    return not (is_chained or is_class or name in STORES or _computes(call))


def owner(function: ast.expr) -> str:
    """Return the object that a call's function is an attribute of, as written: ``self.net`` of ``self.net.heads[0](h)``; empty for a plain name."""
    while isinstance(function, ast.Subscript | ast.Call):
        function = function.func if isinstance(function, ast.Call) else function.value
    return ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""


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
    detached: frozenset[str]
    """Attributes with lists from which nothing is learned."""


def scope_of(
    module: SourceModule,
    function: Function | None,
    networks: frozenset[str],
    *,
    strangers_keep: bool,
    detached: frozenset[str] = frozenset(),
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
    outside = declared_elsewhere(nodes)
    taken = {name for name, value in given if isinstance(value, ast.Attribute | ast.Subscript)}
    inner = (node for node in nodes if isinstance(node, FunctionNode))
    return Scope(
        fresh=frozenset(fresh - parameters - outside),
        shared=parameters | taken,
        read_elsewhere=frozenset(outside.union(*map(_read_from_outside, inner))),
        networks=networks | _made(module),
        cuts=_cuts(module),
        strangers_keep=strangers_keep,
        detached=detached,
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
