"""Tell whether what a statement changes is made anew before: by each turn of the loop around it, or by each call of its function."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final

from rlprof.syntax.module import SourceModule, Statement, called_name, variables_assigned
from rlprof.syntax.nodes import assigned, declared_elsewhere, mentions

JOINS: Final = frozenset(
    {"append", "concatenate", "concat", "hstack", "vstack", "row_stack", "column_stack", "stack", "cat", "insert"}
)  # fmt: skip
"""Functions of array libraries that make a new array of several."""
COPIES: Final = frozenset(
    {"copy", "clone", "contiguous", "detach", "astype", "to", "float", "reset_index", "drop_duplicates", "tail"}
)  # fmt: skip
"""Methods whose result is as long, or a part."""


def is_made_anew(target: ast.expr, statement: Statement, module: SourceModule) -> bool:
    """Tell whether ``target``, which a statement assigns, does not live on from the turn, or the call, before."""
    loop = module.innermost_loop(statement.first_line)
    written, function = ast.unparse(target), statement.function
    if isinstance(loop, ast.For | ast.AsyncFor) and written in variables_assigned(loop.target):
        return True
    own = module.of_function(function)
    value = value_before(target, statement, module)
    if value is not None:
        return not _is_put_back(written, value, own)
    # A parameter of this call, or made of one.
    is_variable = isinstance(target, ast.Name) and function is not None
    declared = declared_elsewhere(statement.node for statement in own)
    return loop is None and is_variable and written not in declared


def value_before(target: ast.expr, statement: Statement, module: SourceModule) -> ast.expr | None:
    """Return what the same turn, or the same call, has surely assigned to ``target`` before; None where it does not, or makes it of what it was."""
    loop = module.innermost_loop(statement.first_line)
    first = loop.lineno if loop is not None else 0
    written = ast.unparse(target)
    for before in module.of_function(statement.function):
        is_sure = set(before.conditions) <= set(statement.conditions)
        if first < before.first_line < statement.first_line and is_sure:
            for each in assigned(before.node):
                if ast.unparse(each.target) == written and not _reads(each.value, written):
                    return each.value
    return None


def _reads(value: ast.expr, written: str) -> bool:
    """Tell whether a value is a part of what has that name, as long or longer: ``rows[1:]``, ``rows.copy()``; what a function makes of it,
    ``env.step(policy(obs))``, may be anything.
    """
    if isinstance(value, ast.Call) and called_name(value) not in JOINS | COPIES:
        return False
    return mentions(value, written)


def _is_put_back(written: str, value: ast.expr, statements: Iterable[Statement]) -> bool:
    """Tell whether a variable is given back to where its value was taken from: ``rows = self.rows``, and ``self.rows = rows`` at the end."""
    place = ast.unparse(value)
    return any(
        ast.unparse(each.target) == place and ast.unparse(each.value) == written
        for statement in statements
        for each in assigned(statement.node)
    )
