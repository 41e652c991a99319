"""Calls by which batches are drawn and put together: what draws places, makes arrays and appends to lists."""

from __future__ import annotations

import ast
from typing import Final

from rlprof.source.old_generators import draws_without_replacement
from rlprof.syntax.module import called_name, receiver

MAKERS: Final = frozenset(
    {"array", "asarray", "stack", "vstack", "hstack", "concatenate", "cat", "fromiter"}
    | {"tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "LongTensor", "BoolTensor"}
)
DRAWS: Final = frozenset(
    {"sample", "choice", "choices", "permutation", "randperm", "randint", "integers", "randrange"}
)
"""Names of what is called where something is drawn: most functions need not be looked at."""

APPENDS: Final = frozenset({"append"})

RECKONING: Final = frozenset({"len", "int", "float", "round", "abs", "min", "max", "floor", "ceil"})
"""Calls by which a place in a container is reckoned, and nothing is drawn."""


def is_permutation(node: ast.AST) -> bool:
    """``np.random.choice(len(memory), n, replace=False)``, ``np.random.permutation(size)[:n]``."""
    if isinstance(node, ast.Call) and called_name(node) == "choice":
        # Of a ``Generator`` it does not shuffle all: 12 µs for 64 out of 100 000.
        legacy = ast.unparse(node.func) in ("np.random.choice", "numpy.random.choice")
        return legacy and draws_without_replacement(node)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        value = node.value
        cut = node.slice.lower is None and node.slice.upper is not None
        return (
            cut
            and isinstance(value, ast.Call)
            and called_name(value) in ("permutation", "randperm")
        )
    return False


def draws_indices(node: ast.AST) -> bool:
    if is_permutation(node):
        return True
    return isinstance(node, ast.Call) and called_name(node) in DRAWS and bool(node.args)


def makes_array(call: ast.Call) -> bool:
    return called_name(call) in MAKERS


def appended_to(node: ast.stmt) -> str:
    """The list to which a statement appends, ``states`` in ``states.append(state)``."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and called_name(call) == "append":
        on = receiver(call)
        return on.id if isinstance(on, ast.Name) else ""
    return ""
