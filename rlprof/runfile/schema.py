"""The tables of a run file. ``docs/run-file.md`` explains them to whoever queries one by hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

APPLICATION_ID: Final = 0x524C5046
"""``RLPF``: tells a run file from any other SQLite file."""

SQLITE_MAGIC: Final = b"SQLite format 3\0"
_APPLICATION_ID_AT: Final = 68
HEAD_BYTES: Final = _APPLICATION_ID_AT + 4
"""How much of its beginning tells a run file."""

_LONGEST_PATH: Final = 512 - len("-journal")
"""In bytes, from the root: SQLite opens no file with a longer one."""

VERSION: Final = 5
"""Kept in ``user_version``.

1: the first version (rlprof 0.1).
2: the table ``memory``; merged gauges keep their weighted mean, their sum or their highest value.
3: the tables ``torch_window`` and ``sync_site``.
4: the table ``value``.
5: the table ``experiment``.
"""

SINCE_MEMORY: Final = 2
"""The first version with the table ``memory``."""

SINCE_TORCH: Final = 3
"""The first version with the tables ``torch_window`` and ``sync_site``."""

SINCE_VALUES: Final = 4
"""The first version with the table ``value``."""

SINCE_EXPERIMENTS: Final = 5
"""The first version with the table ``experiment``."""

LEAST_SHARE: Final = -10.0
"""Saved share of a treatment that makes steps eleven times as slow: what is slower still is kept as this."""

TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE process (
    id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, ppid INTEGER NOT NULL, argv TEXT NOT NULL,
    executable TEXT NOT NULL, python TEXT NOT NULL, start_method TEXT NOT NULL,
    started_us INTEGER NOT NULL, ended_us INTEGER, exit_code INTEGER,
    fate TEXT NOT NULL, note TEXT NOT NULL, requested_interval_us INTEGER NOT NULL,
    clock_samples INTEGER NOT NULL, clock_invalid_us INTEGER NOT NULL,
    clock_covered_us INTEGER NOT NULL, probe_samples INTEGER NOT NULL, probe_lost INTEGER NOT NULL
);
CREATE TABLE thread (
    id INTEGER PRIMARY KEY, process INTEGER NOT NULL REFERENCES process, tid INTEGER NOT NULL,
    name TEXT NOT NULL, is_main INTEGER NOT NULL
);
CREATE TABLE frame (
    id INTEGER PRIMARY KEY, file TEXT NOT NULL, function TEXT NOT NULL, line INTEGER NOT NULL
);
CREATE TABLE node (
    id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, frame INTEGER NOT NULL REFERENCES frame
);
CREATE TABLE window (
    id INTEGER PRIMARY KEY, start_us INTEGER NOT NULL, end_us INTEGER NOT NULL
);
CREATE TABLE sample (
    window INTEGER NOT NULL, thread INTEGER NOT NULL, node INTEGER NOT NULL,
    wall_us INTEGER NOT NULL, idle_us INTEGER NOT NULL, cpu_us INTEGER NOT NULL,
    PRIMARY KEY (window, thread, node)
) WITHOUT ROWID;
CREATE TABLE clock (
    window INTEGER NOT NULL, thread INTEGER NOT NULL, wall_us INTEGER NOT NULL,
    idle_us INTEGER NOT NULL, invalid_us INTEGER NOT NULL, on_cpu_us INTEGER NOT NULL,
    run_queue_us INTEGER NOT NULL, PRIMARY KEY (window, thread)
) WITHOUT ROWID;
CREATE TABLE counter (
    window INTEGER NOT NULL, process INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (window, process, name)
) WITHOUT ROWID;
CREATE TABLE gauge (
    window INTEGER NOT NULL, process INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (window, process, name)
) WITHOUT ROWID;
CREATE TABLE memory (
    thread INTEGER NOT NULL, node INTEGER NOT NULL,
    grown_bytes INTEGER NOT NULL, released_bytes INTEGER NOT NULL, PRIMARY KEY (thread, node)
) WITHOUT ROWID;
CREATE TABLE torch_window (
    process INTEGER NOT NULL REFERENCES process, number INTEGER NOT NULL, kind TEXT NOT NULL,
    fate TEXT NOT NULL, begun_us INTEGER NOT NULL, ended_us INTEGER NOT NULL,
    updates INTEGER NOT NULL, trace BLOB NOT NULL, PRIMARY KEY (process, number)
);
CREATE TABLE sync_site (
    process INTEGER NOT NULL REFERENCES process, file TEXT NOT NULL, function TEXT NOT NULL,
    line INTEGER NOT NULL, method TEXT NOT NULL, device TEXT NOT NULL, calls INTEGER NOT NULL,
    wait_us INTEGER NOT NULL, bytes INTEGER NOT NULL
);
CREATE TABLE value (
    process INTEGER NOT NULL REFERENCES process, file TEXT NOT NULL, function TEXT NOT NULL,
    line INTEGER NOT NULL, operand TEXT NOT NULL, first_us INTEGER NOT NULL,
    last_us INTEGER NOT NULL, looks INTEGER NOT NULL, fields TEXT NOT NULL
);
CREATE TABLE experiment (
    finding TEXT NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL, function TEXT NOT NULL,
    treatment TEXT NOT NULL, kind TEXT NOT NULL, outcome TEXT NOT NULL,
    predicted_low REAL, predicted_high REAL,
    measured_median REAL, measured_low REAL, measured_high REAL,
    pairs INTEGER NOT NULL, slot_s REAL NOT NULL, seconds REAL NOT NULL, note TEXT NOT NULL
);
CREATE TABLE source (file TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE note (level TEXT NOT NULL, slug TEXT NOT NULL, text TEXT NOT NULL);
"""

STATEMENTS: Final = tuple(filter(None, map(str.strip, TABLES.split(";"))))
"""As SQLite keeps them. Files are refused that have others: a table that changes needs its earlier
statements here too, for the files of earlier versions.
"""


def is_head_of_run_file(head: bytes) -> bool:
    """Tell whether a file that begins with these :data:`HEAD_BYTES` was made by a recorder."""
    application = int.from_bytes(head[_APPLICATION_ID_AT:HEAD_BYTES], "big")
    return head.startswith(SQLITE_MAGIC) and application == APPLICATION_ID


def is_too_long(run_file: Path) -> bool:
    """Tell whether SQLite cannot open a file at this path."""
    return len(os.fsencode(os.path.realpath(run_file))) > _LONGEST_PATH


def journals(run_file: Path) -> tuple[Path, Path]:
    """Return what SQLite keeps beside a run file that is being written, or whose writer was killed."""
    wal, shm = (run_file.with_name(run_file.name + suffix) for suffix in ("-wal", "-shm"))
    return wal, shm
