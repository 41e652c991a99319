"""The labels of run files, without reading the rest of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from rlprof.errors import RunFileError
from rlprof.runfile.opening import opened


def labelled(label: str, folder: Path) -> list[Path]:
    """The run files in ``folder`` with that label, the last recorded first.

    Files that cannot be read are passed over: they have no label that is known.
    """
    found = [
        (started, path) for path, name, started in _labels(folder.glob("*.rlprof")) if name == label
    ]
    return [path for _, path in sorted(found, key=lambda pair: (-pair[0], pair[1]))]


def _labels(paths: Iterable[Path]) -> Iterable[tuple[Path, object, float]]:
    for path in paths:
        if path.is_symlink():
            continue
        try:
            facts = _facts(path)
        except (RunFileError, sqlite3.Error, ValueError, OSError):
            continue
        started = facts.get("run.started_unix_s")
        yield (
            path,
            facts.get("run.label"),
            float(started) if isinstance(started, int | float) else 0.0,
        )


def _facts(path: Path) -> dict[str, object]:
    with opened(path) as reader:
        reader.version(path)
        rows = reader.rows(
            "SELECT key, value FROM meta WHERE key IN ('run.label', 'run.started_unix_s')"
        )
        return {key: json.loads(value) for key, value in rows}
