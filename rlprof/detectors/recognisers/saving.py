"""Where models, optimizers and buffers are saved to disk."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Final

from rlprof.libraries.known import files_of
from rlprof.model.recording import Frame
from rlprof.source.callees import callee
from rlprof.source.lines import UserLines, last_name
from rlprof.source.values import Values
from rlprof.syntax.module import called_name
from rlprof.syntax.origin import Origin, origin

_writes: Final = files_of(lambda library: library.saving)

_SAVERS: Final = frozenset(
    {"save", "savez", "savez_compressed", "dump", "save_file", "save_to_zip_file"}
)
"""Functions of such code that write; those that read have other names."""

_SAVES: Final = frozenset(
    {"save", "savez", "savez_compressed", "dump", "save_file", "save_checkpoint", "save_pretrained",
     "save_weights", "save_replay_buffer", "write_checkpoint", "checkpoint"}
)  # fmt: skip
"""Calls on the user's line that save something."""

_OPENS: Final = re.compile(r"open|File", re.IGNORECASE)
"""Names of functions that open a file."""
_ROWS: Final = "json.dump"
"""Saves no model: what is written with it again and again are records of what happened."""


def saving_calls(lines: UserLines, values: Values) -> Iterator[int]:
    """The topmost nodes that save: a library's function, or the user's line that calls it in C."""
    return lines.tree.topmost(partial(_saves, lines, values))


def _saves(lines: UserLines, values: Values, frame: Frame) -> bool:
    if origin(frame) is not Origin.YOURS:
        return last_name(frame.function) in _SAVERS and _writes(frame.file)
    module, statement = lines.module(frame.file), lines.statement(frame)
    if module is None or statement is None:
        return False
    parts = statement.walk()
    if isinstance(statement.node, ast.With) and _opens(statement.node):
        # The file is opened to save something to it.
        parts = chain(parts, ast.walk(ast.Module(statement.node.body, [])))
    calls = [part for part in parts if isinstance(part, ast.Call) and called_name(part) in _SAVES]
    known = values.of(frame.file, statement) if calls else {}
    callees = (callee(call, known, module) for call in calls)
    return any(not called.is_yours and called.name != _ROWS for called in callees)


def _opens(node: ast.With) -> bool:
    """Tell ``with open(path) as file`` from a pool, a lock or a range of a profiler, in whose body something is saved as well."""
    calls = (item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call))
    return any(_OPENS.search(called_name(call)) for call in calls)
