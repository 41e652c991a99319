"""Tell what a statement leaves behind for later ones of its function: a file under a name that they are given, too."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from typing import Final

from rlprof.syntax.module import SourceModule, Statement, called_name
from rlprof.syntax.nodes import given_by_name, given_to, owner_of

_WRITES: Final = re.compile(
    r"save|write|dump|store|export|checkpoint|pickle|serialize|savefig|(^|_)to_", re.IGNORECASE
)
"""Names of functions that make files."""
_OF_FILES: Final = frozenset(
    {"replace", "rename", "renames", "move", "copy", "copy2", "copyfile", "link", "symlink"}
    | {"symlink_to", "hardlink_to", "remove", "unlink", "stat", "getsize", "open", "load", "chmod"}
    | {"read_bytes", "read_text", "upload", "upload_file", "log_artifact", "make_archive", "run"}
)
"""Names of functions that take a file that is there."""
_EMPTIES: Final = re.compile(r"[wx]")
"""Modes in which a file that is opened has nothing in it."""


def read_later(module: SourceModule, line: int) -> str:
    """Return what a statement at ``line`` is given to write to, and later ones of its function take from there; empty where there is none."""
    for statement in module.statements_at(line):
        calls = list(statement.calls())
        arguments = {text for call in calls for text in _texts(given_to(call))}
        owners = {text for call in calls for text in _texts(owner_of(call))}
        writes = any(_WRITES.search(called_name(call)) for call in calls)
        for call in (call for each in _after(module, statement) for call in each.calls()):
            is_of_files = called_name(call) in _OF_FILES
            taken = arguments | owners if is_of_files else arguments if writes else set()
            for text in _texts([*given_to(call), *owner_of(call)]):
                if text in taken:
                    return text
        for text in _emptied(module, statement, arguments | owners):
            return text
    return ""


def _after(module: SourceModule, statement: Statement) -> Iterator[Statement]:
    for other in module.of_function(statement.function):
        if other.first_line > statement.last_line:
            yield other


def _texts(values: list[ast.expr]) -> Iterator[str]:
    """Yield the names, attributes and texts among them, as they are written."""
    for value in values:
        if isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.JoinedStr) or (
            isinstance(value, ast.Constant) and isinstance(value.value, str)
        ):
            yield ast.unparse(value)


def _emptied(module: SourceModule, statement: Statement, given: Collection[str]) -> Iterator[str]:
    """Yield what is open around a statement that fills it, and empty without that."""
    for around in module.statements:
        node = around.node
        last = node.end_lineno or node.lineno
        if isinstance(node, ast.With) and node.lineno < statement.first_line <= last:
            for item in node.items:
                name = item.optional_vars
                if isinstance(name, ast.Name) and name.id in given and _opens(item.context_expr):
                    yield name.id


def _opens(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or called_name(node) != "open":
        return False
    modes = [*node.args, *given_by_name(node, "mode")]
    return any(
        isinstance(mode, ast.Constant)
        and isinstance(mode.value, str)
        and len(mode.value) <= 3
        and _EMPTIES.search(mode.value)
        for mode in modes
    )
