"""Where a source file makes its optimizers, and with what."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from rlprof.syntax.module import PARSED_FILES, called_name, parse


@dataclass(frozen=True, slots=True)
class OptimizerCall:
    """``torch.optim.Adam(policy.parameters(), lr=3e-4)``."""

    name: str
    line: int
    options: Mapping[str, ast.expr]
    """What is given by keyword."""

    def says(self, option: str) -> bool:
        """Whether an option is given, and not as nothing, zero or False."""
        value = self.options.get(option)
        return value is not None and not (isinstance(value, ast.Constant) and not value.value)


@lru_cache(maxsize=PARSED_FILES)
def optimizer_calls(text: str) -> tuple[OptimizerCall, ...]:
    """The optimizers that ``text`` makes, by line; none when it cannot be read."""
    module = parse(text) if "torch" in text else None
    if module is None:
        return ()
    calls = [
        it
        for it in ast.walk(module.tree)
        if isinstance(it, ast.Call) and called_name(it) in ("Adam", "AdamW", "SGD", "Adagrad")
    ]
    return tuple(
        OptimizerCall(
            called_name(it), it.lineno, {word.arg: word.value for word in it.keywords if word.arg}
        )
        for it in sorted(calls, key=lambda call: call.lineno)
    )
