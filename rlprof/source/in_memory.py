"""Files that are none: bytes in memory that a line writes to, or reads from, as ``torch.save(weights, io.BytesIO())`` does for a message."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from rlprof.model.recording import Frame
from rlprof.source.lines import UserLines
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.bound_inputs import only_value
from rlprof.syntax.module import Statement, called_name
from rlprof.syntax.nodes import given_to

_CLASSES: Final = frozenset({"BytesIO", "StringIO"})


def works_in_memory(frame: Frame, lines: UserLines, values: Values) -> bool:
    """Tell whether a call on the line of ``frame`` is given such a file."""
    return any(
        _is_in_memory(argument, statement, values.of(frame.file, statement))
        for statement in lines.statements(frame)
        for call in statement.calls()
        for argument in given_to(call)
    )


def _is_in_memory(argument: ast.expr, statement: Statement, known: Mapping[str, Value]) -> bool:
    seen = value_of(argument, known)
    if seen is not None:
        return seen.type.rpartition(".")[2] in _CLASSES
    made: ast.expr | None = argument
    if isinstance(argument, ast.Name) and statement.function is not None:
        made = only_value(statement.function, argument.id)
    return isinstance(made, ast.Call) and called_name(made) in _CLASSES
