"""All rows, group by group."""

from __future__ import annotations

from benchmarks.attack import inputs, kills, outputs, transparency
from benchmarks.attack.row import Row

ROWS: tuple[Row, ...] = (*kills.ROWS, *transparency.ROWS, *outputs.ROWS, *inputs.ROWS)

GROUPS: tuple[str, ...] = tuple(dict.fromkeys(row.group for row in ROWS))
