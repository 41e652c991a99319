"""Draws without replacement from NumPy's old generators, which shuffle all numbers for the few that they draw."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.module import Statement, called_name, receiver
from rlprof.syntax.nodes import given_by_name

_OLD_GENERATOR: Final = "numpy.random.mtrand.RandomState"
"""Type whose methods ``np.random.choice`` and its neighbours are, too."""


def shuffles_all(statement: Statement, known: Mapping[str, Value]) -> bool:
    """Tell whether it draws without replacement from one of NumPy's old generators, by looks at what it calls.

    Those shuffle all numbers for the few that they draw, a ``Generator`` does not.
    """
    return any(
        _is_old_generator(call, known) and draws_without_replacement(call)
        for call in statement.calls()
    )


def _is_old_generator(call: ast.Call, known: Mapping[str, Value]) -> bool:
    called = value_of(call.func, known)
    if called is not None:
        return called.owner == _OLD_GENERATOR
    on = receiver(call)
    of = None if on is None else value_of(on, known)
    return of is not None and of.type == _OLD_GENERATOR


def draws_without_replacement(call: ast.Call) -> bool:
    """``rng.choice(n, 64, replace=False)``, under whatever name; ``rng.choice(n, 64, False)`` under its own."""
    given = given_by_name(call, "replace")
    if called_name(call) == "choice":
        given += call.args[2:3]
    return any(isinstance(value, ast.Constant) and value.value is False for value in given)
