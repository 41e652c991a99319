"""Names of functions that keep, lose or need a graph that they are given."""

from __future__ import annotations

import ast
import re
from typing import Final

from rlprof.source.written_names import ARRAY_MODULES, FUNCTIONAL, root_name
from rlprof.syntax.module import called_name, stands_for
from rlprof.syntax.nodes import calls_in

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
_PURE_MODULES: Final = (
    ARRAY_MODULES | FUNCTIONAL | {"math", "itertools", "copy", "einops", "random", "operator"}
)
"""Functions of theirs keep nothing."""

_NO_ENVIRONMENT: Final = re.compile(
    r"optim|\bopt\b|_opt\b|sched|scaler|prof|accelerator|\bself$", re.I
)
"""Names of what else has a ``step``."""


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


def differentiates(call: ast.Call) -> bool:
    if called_name(call) in ("backward", "grad"):
        return True
    dotted = ast.unparse(call.func).split(".")
    if isinstance(name := _first(call.func), ast.Name):
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
    is_class = name[:1].isupper() and name[1:2].islower() and root(function) != "self"
    return not (is_chained or is_class or name in STORES or _computes(call))


def owner(function: ast.expr) -> str:
    """Return the object that a call's function is an attribute of, as written: ``self.net`` of ``self.net.heads[0](h)``; empty for a plain name."""
    while isinstance(function, ast.Subscript | ast.Call):
        function = function.func if isinstance(function, ast.Call) else function.value
    return ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""


def root(expression: ast.expr) -> str:
    """The first name of ``self.heads[0].value(h)``."""
    first = _first(expression)
    return first.id if isinstance(first, ast.Name) else ""


def _first(expression: ast.expr) -> ast.expr:
    while isinstance(expression, ast.Attribute | ast.Subscript | ast.Call):
        expression = expression.func if isinstance(expression, ast.Call) else expression.value
    return expression
