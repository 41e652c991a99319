"""Tell what becomes of the graph that a network's call records: read and dropped, returned, or kept.

Followed by name through one function. Whatever is not sure to drop it keeps it: a list that it is
appended to may be what ``backward`` starts from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final

from rlprof.source.written_names import ARRAY_MODULES, FUNCTIONAL, root_name
from rlprof.syntax.module import PARSED_FILES, Statement, called_name, parse

_CUTS: Final = frozenset(
    {
        "detach",
        "item",
        "tolist",
        "numpy",
        "sample",
        "argmax",
        "argmin",
        "multinomial",
        "size",
        "dim",
    }
    | {"numel", "int", "bool", "long"}
)
"""Calls whose result has no graph: numbers, indices, drawn actions, whole numbers."""

_CUTTING_BUILTINS: Final = frozenset(
    {"len", "float", "str", "repr", "print", "isinstance", "round"}
)
"""They read a number; methods by these names, ``q.float()``, keep the graph."""

_CUT_ATTRIBUTES: Final = frozenset({"data", "shape", "device", "dtype", "indices", "ndim"})
_WITH_INDICES: Final = frozenset({"max", "min", "sort", "topk"})
"""They give values and indices; an index has no graph."""

_OF_TENSORS: Final = frozenset(
    {"to", "float", "long", "unsqueeze", "squeeze", "view", "reshape", "flatten", "clone", "cpu"}
    | {"cuda", "copy", "astype", "mean", "sum", "parameters", "get", "keys", "values", "items"}
)
"""Methods that no network is called by: what comes before one is made ready for it."""


_STORES: Final = frozenset(
    {"append", "extend", "add", "insert", "push", "put", "put_nowait", "store", "send", "update"}
    | {"setattr", "record", "remember", "save"}
)
"""Calls that keep what they are given."""


class GraphUse(Enum):
    DROPPED = "dropped"
    """All of it is read and none is kept: nothing can ever go back through it."""
    RETURNED = "returned"
    """The caller has it."""
    KEPT = "kept"


@lru_cache(maxsize=PARSED_FILES)
def graph_use(text: str, line: int) -> GraphUse:
    """The use of what the networks give that are called on ``line``."""
    module = parse(text)
    calls = module.statements_at(line) if module else ()
    if module is None or not calls:
        return GraphUse.KEPT
    if len({id(it.function) for it in calls}) > 1:  # A function and what is in it, on one line.
        calls = calls[-1:]
    statements = sorted(
        (it for it in module.statements if it.function is calls[0].function),
        key=lambda it: it.first_line,
    )
    return _Graph(calls).follow(statements)


class _Graph:
    """The names of one function that hold parts of one call's graph."""

    def __init__(self, calls: Sequence[Statement]) -> None:
        """``calls`` are the statements of one line: nobody knows which of them asks the network."""
        self._calls = calls
        self._at_call = False
        self._names: frozenset[str] = frozenset()

    def follow(self, statements: Iterable[Statement]) -> GraphUse:
        uses = set()
        statements = list(statements)
        # Twice: a loop comes back to what stands above the call.
        for _ in range(2):
            for statement in statements:
                self._at_call = any(statement is call for call in self._calls)
                uses.add(self._use(statement))
        for use in (GraphUse.KEPT, GraphUse.RETURNED):
            if use in uses:
                return use
        return GraphUse.DROPPED

    def _use(self, statement: Statement) -> GraphUse:
        node = statement.node
        calls = [it for it in statement.walk() if isinstance(it, ast.Call)]
        # A function whose result nobody takes is called for what it does with the graph.
        done_for = isinstance(node, ast.Expr) and self._holds(node.value)
        if done_for or any(map(self._hands_on, calls)):
            return GraphUse.KEPT
        if isinstance(node, ast.Return):
            has_it = node.value is not None and self._holds(node.value)
            return GraphUse.RETURNED if has_it else GraphUse.DROPPED
        if isinstance(node, ast.Assign):
            self._forget(statement, node)
            kept = [not self._give(target, node.value) for target in node.targets]
            return GraphUse.KEPT if any(kept) else GraphUse.DROPPED
        if isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For) and not self._pass_on(node):
            return GraphUse.KEPT
        yielded = [
            it.value
            for it in statement.walk()
            if isinstance(it, ast.Yield | ast.YieldFrom) and it.value
        ]
        return GraphUse.KEPT if any(map(self._holds, yielded)) else GraphUse.DROPPED

    def _forget(self, statement: Statement, node: ast.Assign) -> None:
        """Names that are given something else have no graph any more, unless only a branch does it."""
        if len(statement.conditions) <= len(self._calls[-1].conditions) and not self._holds(
            node.value
        ):
            self._names -= {it.id for it in node.targets if isinstance(it, ast.Name)}

    def _pass_on(self, node: ast.AugAssign | ast.AnnAssign | ast.For) -> bool:
        value = node.iter if isinstance(node, ast.For) else node.value
        return value is None or self._give(node.target, value)

    def _give(self, target: ast.expr, value: ast.expr) -> bool:
        """Follow an assignment; False where the graph goes into something that lasts."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            return all(self._give(*it) for it in zip(target.elts, value.elts, strict=False))
        if not self._holds(value):
            return True
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        if not all(isinstance(it, ast.Name) for it in parts):
            return False
        self._names |= {it.id for it in parts if isinstance(it, ast.Name)}
        return True

    def _hands_on(self, call: ast.Call) -> bool:
        """Tell whether the graph is given to something that keeps it, or differentiated.

        What a function is given and gives back in some form, it is taken not to keep.
        """
        name = called_name(call)
        if name == "backward":
            return self._holds_receiver(call)
        given = [*call.args, *(it.value for it in call.keywords)]
        return name in _STORES | {"grad"} and any(map(self._holds, given))

    def _holds_receiver(self, call: ast.Call) -> bool:
        return isinstance(call.func, ast.Attribute) and self._holds(call.func.value)

    def _holds(self, expression: ast.expr) -> bool:
        """Tell whether the value of ``expression`` has a part of the graph."""
        match expression:
            case ast.Constant() | ast.Compare() | ast.JoinedStr():
                return False
            case ast.Name(id=name):
                return name in self._names
            case ast.Attribute(attr=attribute, value=value):
                return attribute not in _CUT_ATTRIBUTES and self._holds(value)
            case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=1)):
                return called_name(call) not in _WITH_INDICES and self._holds(call)
            case ast.Subscript(value=value):
                return self._holds(value)
            case ast.Call():
                return self._call_holds(expression)
        return any(self._holds(it) for it in _parts(expression))

    def _call_holds(self, call: ast.Call) -> bool:
        name = called_name(call)
        is_builtin = isinstance(call.func, ast.Name) and name in _CUTTING_BUILTINS
        if name in _CUTS or is_builtin:
            return False
        if self._holds_receiver(call) or any(map(self._holds, call.args)):
            return True
        if any(self._holds(it.value) for it in call.keywords):
            return True
        return self._at_call and _may_be_network(call)


def _may_be_network(call: ast.Call) -> bool:
    root = root_name(call.func)
    return (
        bool(root)
        and root not in ARRAY_MODULES | FUNCTIONAL
        and called_name(call) not in _OF_TENSORS
        and not called_name(call)[:1].isupper()
    )


def _parts(expression: ast.expr) -> Iterable[ast.expr]:
    return (it for it in ast.iter_child_nodes(expression) if isinstance(it, ast.expr))
