"""Tell whether a program goes on as before without the checks of torch's distributions."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import Final

from rlprof.source.caught_errors import caught_at
from rlprof.syntax.module import SourceModule

VALIDATE: Final = "validate_args"
_RAISED: Final = "ValueError"


def why_checks_stay(
    modules: Mapping[str, SourceModule], places: Collection[tuple[str, int]]
) -> str:
    """Return why the default setting cannot take the place of the checks at ``places``; empty where it can."""
    for file, line in places:
        if file in modules and _are_asked_for(modules[file], line):
            return f"{VALIDATE} is given on its line, or beside it"
    caught = caught_at(modules, places, _RAISED)
    if caught is None:
        return ""
    file, line = caught
    return (
        f"the program catches what a check raises, and goes on ({file.rpartition('/')[2]}:{line})"
    )


def _are_asked_for(module: SourceModule, line: int) -> bool:
    """Tell whether the statement, or one of its function, where the distribution may have been made, says so for itself."""
    function = module.function_at(line)
    nodes = [node for each in module.statements_at(line) for node in each.walk()]
    if any(_is_setting(node) for node in nodes):
        return True
    around = ast.walk(function.node) if function is not None else ()
    return any(
        _is_setting(node)
        and not (isinstance(node.value, ast.Constant) and node.value.value is False)
        for node in around
        if isinstance(node, ast.keyword)
    )


def _is_setting(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg == VALIDATE
