"""Where models, optimizers and buffers are saved to disk."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Final

from rlprof.libraries.known import files_of
from rlprof.model.recording import Frame
from rlprof.source.lines import UserLines, last_name
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
"""Calls on the user's line that save something; ``json.dump`` of a log is too small to be seen."""


def saving_calls(lines: UserLines) -> Iterator[int]:
    """The topmost nodes that save: a library's function, or the user's line that calls it in C."""
    return lines.tree.topmost(partial(_saves, lines))


def _saves(lines: UserLines, frame: Frame) -> bool:
    if origin(frame) is not Origin.YOURS:
        return last_name(frame.function) in _SAVERS and _writes(frame.file)
    statement = lines.statement(frame)
    return statement is not None and any(
        isinstance(node, ast.Call) and called_name(node) in _SAVES for node in statement.walk()
    )
