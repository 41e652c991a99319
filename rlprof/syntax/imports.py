"""What the names of a file stand for, as its imports tell: ``settle`` is ``os.fsync``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from rlprof.syntax.module import PARSED_FILES, SourceModule


@lru_cache(maxsize=PARSED_FILES)
def imported(module: SourceModule) -> Mapping[str, str]:
    """Full names by the names that the file uses: imported ones, and what it calls such at its own level.

    ``from os import fsync as settle`` is ``{"settle": "os.fsync"}``, with ``write = os.write`` below it
    ``{"write": "os.write"}`` as well. Relative imports are left out.
    """
    found: dict[str, str] = {}
    for statement in module.statements:
        found.update(_imported(statement.node))
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute | ast.Name):
            name = full_name(node.value, found)
            if name:
                found |= {it.id: name for it in node.targets if isinstance(it, ast.Name)}
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


def _imported(node: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            # ``import os.path`` binds ``os``.
            root = alias.name.partition(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (root, root)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        for alias in node.names:
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"
