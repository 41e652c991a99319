"""Distributions of torch, which answer for all rows at once."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from rlprof.syntax.imports import full_name

_OF_ROWS: Final = frozenset({"log_prob", "entropy", "cdf"})
"""Methods that answer for each row by itself, and draw nothing."""


def is_of_distribution(call: ast.Call, imports: Mapping[str, str]) -> bool:
    """Tell whether a call makes a distribution, ``Categorical(p)``, or asks one that is made right there, ``Categorical(p).log_prob(a)``."""
    match call.func:
        case ast.Attribute(value=ast.Call() as made, attr=attr) if attr in _OF_ROWS:
            return is_of_distribution(made, imports)
    return full_name(call.func, imports).startswith("torch.distributions.")
