"""All rows, group by group."""

from __future__ import annotations

from benchmarks.attack import transparency
from benchmarks.attack.row import Row

ROWS: tuple[Row, ...] = (*transparency.ROWS,)

GROUPS: tuple[str, ...] = tuple(dict.fromkeys(row.group for row in ROWS))
