"""Tell what the move of a parameter is made of, besides the two parameters and numbers."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from rlprof.source.value import Value
from rlprof.syntax.module import SourceModule, called_name
from rlprof.syntax.nodes import calls_in, names_in, nodes_in, targets_of
from rlprof.syntax.pure_calls import is_drawing_method


def draws(module: SourceModule, parts: Sequence[ast.AST]) -> bool:
    """Tell whether they draw numbers, or call a function of the file that does: a parameter with noise is none that follows another."""
    called = {called_name(call) for call in calls_in(*parts)}
    own = [function.node for function in module.functions if function.node.name in called]
    called |= {called_name(call) for call in calls_in(*own)}
    # ``randn_like``, ``normal_``
    return any(is_drawing_method(name.removesuffix("_like").rstrip("_")) for name in called)


def reads_items_of_others(
    parts: Sequence[ast.AST], keys: Collection[str], own: Collection[str]
) -> bool:
    """Tell whether they read what something else than ``own`` has for a turn of the loop: ``gradients[name]``."""
    return any(
        isinstance(item, ast.Subscript)
        and isinstance(item.ctx, ast.Load)
        and isinstance(item.slice, ast.Name)
        and item.slice.id in keys
        and not {ast.unparse(item), ast.unparse(item.value)} & {*own}
        and "state_dict()" not in ast.unparse(item.value)
        for item in nodes_in(*parts)
    )


def reads_other_tensors(
    parts: Sequence[ast.AST], elements: Collection[str], known: Mapping[str, Value]
) -> bool:
    """Tell whether they read a tensor, and no parameter, that a turn of the loop is given."""
    return any(
        name in elements and name in known and known[name].type == "torch.Tensor"
        for name in names_in(*parts)
    )


def with_variables_of(moves: Sequence[ast.stmt], body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the moves, and the statements that make the variables which they read."""
    return [*moves, *_making(names_in(*moves), body)]


def _making(names: Collection[str], body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if any(isinstance(to, ast.Name) and to.id in names for to in targets_of(statement)):
            yield statement
