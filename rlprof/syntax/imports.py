"""Tell what the names of a file stand for, as its imports tell, ``settle`` is ``os.fsync``; and names in expressions as they are written."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

# What is imported in the file stands for the module's own name (``root_name``); the short ones count where no import is seen.
NUMPY: Final = frozenset({"numpy", "np"})
TORCH: Final = frozenset({"torch", "th"})
FUNCTIONAL: Final = frozenset({"F", "functional"})
"""Names of ``torch.nn.functional``."""
ARRAY_MODULES: Final = NUMPY | TORCH | {"jnp", "cupy", "cp"}

STANDS_FOR: Final = "stands_for"
"""Attribute of the names of a tree: what is imported under them."""


def imported(tree: ast.Module, nodes: Sequence[ast.AST]) -> Mapping[str, str]:
    """Full names by the names that the file uses: imported ones, and what it calls such at its own level.

    ``from os import fsync as settle`` is ``{"settle": "os.fsync"}``, with ``write = os.write`` or ``write = partial(os.write, 1)``
    below it ``{"write": "os.write"}`` as well. Left out are relative imports, and names that anything else in the file is
    called, too: an argument, a variable. ``nodes`` are all of ``tree``.
    """
    found: dict[str, str] = {}
    bound: dict[str, int] = defaultdict(int)
    for node in nodes:
        if isinstance(node, ast.Name):
            bound[node.id] += not isinstance(node.ctx, ast.Load)
        elif isinstance(node, ast.arg):
            bound[node.arg] += 1
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound[node.name] += 1
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update(_imported(node))
    found = {name: full for name, full in found.items() if not bound[name]}
    if found:
        found |= {name: full for name, full in _called_so(tree, found) if bound[name] == 1}
    return found


def full_name(expression: ast.expr, names: Mapping[str, str]) -> str:
    """``os.fsync`` for what ``expression`` stands for; empty where no import tells."""
    attributes: list[str] = []
    while isinstance(expression, ast.Attribute):
        attributes.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name) or expression.id not in names:
        return ""
    return ".".join([names[expression.id], *reversed(attributes)])


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            # ``import os.path`` binds ``os``.
            root = alias.name.partition(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (root, root)
    elif node.module and not node.level:
        for alias in node.names:
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _called_so(tree: ast.Module, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the names that the file's own level gives to what is imported."""
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        value = node.value
        if isinstance(value, ast.Call) and full_name(value.func, names) == "functools.partial":
            value = value.args[0] if value.args else value
        told = full_name(value, names)
        yield from (
            (target.id, told) for target in node.targets if told and isinstance(target, ast.Name)
        )


def stands_for(name: ast.Name) -> str:
    """The full name of what is imported under ``name``; else the name itself."""
    told: str = getattr(name, STANDS_FOR, name.id)
    return told


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


def own_name(expression: ast.AST | None) -> str:
    """``q`` for a variable and for an attribute of anything; empty for the rest."""
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""
