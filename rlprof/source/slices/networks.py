"""Tell networks of torch by what variables and attributes are given."""

from __future__ import annotations

import ast
import re
from typing import Final

from rlprof.source.slices.names import NameScope, ProgramNames
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import called_name

_NETWORK: Final = re.compile(r"torch\.nn\.(?!functional|init|utils)(\w+\.)*[A-Z]\w*")
_SAME: Final = frozenset(
    {"to", "cpu", "cuda", "double", "eval", "float", "half", "requires_grad_", "share_memory", "train"}
)  # fmt: skip
"""Methods of a network that give it back."""
_COPIES: Final = frozenset({"deepcopy", "compile", "script"})
"""Functions that give a network for one."""
_MOST_COPIES: Final = 3
"""Copies of copies that are followed: two may be made of each other."""


def holds_network(
    expression: ast.expr, scope: NameScope, names: ProgramNames, copies: int = 0
) -> bool:
    """Tell whether a variable or an attribute is only ever given networks of torch's own classes, or copies of them; ``copies``: how many
    were followed to it.
    """
    values = names.values_of(expression, scope) if copies < _MOST_COPIES else ()
    return bool(values) and all(
        _is_network(value, within, names, copies) for value, within in values
    )


def _is_network(value: ast.expr | None, scope: NameScope, names: ProgramNames, copies: int) -> bool:
    match value:
        case ast.Call(func=ast.Attribute(value=network, attr=name)) if name in _SAME:
            is_moved = isinstance(network, ast.Name | ast.Attribute)
            return is_moved or _is_network(network, scope, names, copies)
        case ast.Call(args=[ast.Name() | ast.Attribute() as network, *_]) if (
            called_name(value) in _COPIES
        ):
            return holds_network(network, scope, names, copies + 1)
        case ast.Call():
            return _is_made_by_torch(value, scope, names) or _gives_networks(value, names)
    return False


def _gives_networks(call: ast.Call, names: ProgramNames) -> bool:
    """Tell whether it calls a function of the program's that returns nothing else."""
    makers = names.functions_named(called_name(call))
    returned = [(each, maker.scope) for maker in makers for each in maker.scope.returned]
    return bool(returned) and all(_is_made_by_torch(each, of, names) for each, of in returned)


def _is_made_by_torch(value: ast.expr, scope: NameScope, names: ProgramNames) -> bool:
    made = full_name(value.func, names.imports(scope)) if isinstance(value, ast.Call) else ""
    return _NETWORK.fullmatch(made) is not None
