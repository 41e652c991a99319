"""Names in expressions as they are written, and those by which arrays and tensors are computed."""

from __future__ import annotations

import ast
from typing import Final

from rlprof.syntax.module import stands_for

# What is imported in the file stands for the module's own name (``root_name``); the short ones count where no import is seen.
NUMPY: Final = frozenset({"numpy", "np"})
TORCH: Final = frozenset({"torch", "th"})
FUNCTIONAL: Final = frozenset({"F", "functional"})
"""Names of ``torch.nn.functional``."""
ARRAY_MODULES: Final = NUMPY | TORCH | {"jnp", "cupy", "cp"}


def root_name(expression: ast.expr) -> str:
    """The first name of a dotted one, ``np.random.choice`` -> ``numpy``: the module's own, where it is imported."""
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    if not isinstance(expression, ast.Name):
        return ""
    full = stands_for(expression)
    return "jnp" if full.startswith("jax.numpy") else full.partition(".")[0]


def name_key(expression: ast.expr) -> str:
    """``q`` for a variable, ``.q`` for an attribute of anything; empty for the rest."""
    if isinstance(expression, ast.Name):
        return expression.id
    return f".{expression.attr}" if isinstance(expression, ast.Attribute) else ""


def own_name(expression: ast.expr | None) -> str:
    """``q`` for a variable and for an attribute of anything; empty for the rest."""
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""
