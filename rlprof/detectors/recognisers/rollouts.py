"""Functions of a source file that step an environment."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import Final

from rlprof.syntax.module import PARSED_FILES, called_name, parse

_NO_ENVIRONMENT: Final = re.compile(
    r"optim|\bopt\b|_opt\b|sched|scaler|prof|accelerator|\bself$", re.I
)
"""What else has a ``step``."""


def steps_environment(text: str, line: int) -> bool:
    """Whether the function that ``line`` is in, or the module's own level, calls an environment's ``step``."""
    module = parse(text)
    statement = module.statement_at(line) if module else None
    if statement is None:
        return False
    name = statement.function.qualname if statement.function else ""
    return name in _stepping(text)


@lru_cache(maxsize=PARSED_FILES)
def _stepping(text: str) -> frozenset[str]:
    """The functions that do, by qualified name; the module's own level is ``""``."""
    module = parse(text) if ".step(" in text else None
    try:
        return frozenset(
            it.function.qualname if it.function else ""
            for it in (module.statements if module else ())
            if any(isinstance(call, ast.Call) and _is_step(call) for call in it.walk())
        )
    except RecursionError:
        return frozenset()  # An expression so deep is generated, not written.


def _is_step(call: ast.Call) -> bool:
    return (
        called_name(call) == "step"
        and isinstance(call.func, ast.Attribute)
        and bool(call.args)
        and not _NO_ENVIRONMENT.search(ast.unparse(call.func.value))
    )
