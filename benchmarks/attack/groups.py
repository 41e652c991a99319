"""All rows, group by group."""

from __future__ import annotations

from benchmarks.attack import (
    inputs,
    kills,
    leaks,
    nesting,
    outputs,
    screens,
    secret_words,
    transparency,
    users,
)
from benchmarks.attack.row import Row

ROWS: tuple[Row, ...] = (
    *kills.ROWS,
    *transparency.ROWS,
    *outputs.ROWS,
    *inputs.ROWS,
    *users.ROWS,
    *nesting.ROWS,
    *leaks.ROWS,
    *secret_words.ROWS,
    *screens.ROWS,
)

GROUPS: tuple[str, ...] = tuple(dict.fromkeys(row.group for row in ROWS))
