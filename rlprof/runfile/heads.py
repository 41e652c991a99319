"""The first facts of run files, without reading the rest of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rlprof.errors import RunFileError
from rlprof.runfile.opening import opened


class RunHead(NamedTuple):
    path: Path
    started_unix_s: float
    label: str
    """Empty without one, as are the others."""
    script: str
    git: str
    """``abc1234``, with ``+changes`` where the tree differed from that commit."""


def run_heads(folder: Path) -> list[RunHead]:
    """The runs in ``folder``, the last recorded first; files that cannot be read are passed over, and links are."""
    heads = [head for path in folder.glob("*.rlprof") for head in _head(path)]
    return sorted(heads, key=lambda head: (-head.started_unix_s, head.path))


def labelled(label: str, folder: Path) -> list[Path]:
    """The run files in ``folder`` with that label, the last recorded first."""
    return [head.path for head in run_heads(folder) if head.label == label]


def _head(path: Path) -> Iterator[RunHead]:
    if path.is_symlink():
        return
    try:
        facts = _facts(path)
    except (RunFileError, sqlite3.Error, ValueError, OSError):
        return
    started = facts.get("run.started_unix_s")
    texts = (facts.get(f"run.{name}") for name in ("label", "script", "git"))
    yield RunHead(
        path,
        float(started) if isinstance(started, int | float) else 0.0,
        *(text if isinstance(text, str) else "" for text in texts),
    )


def _facts(path: Path) -> dict[str, object]:
    with opened(path) as reader:
        reader.version(path)
        rows = reader.rows(
            "SELECT key, value FROM meta WHERE key IN "
            "('run.label', 'run.started_unix_s', 'run.script', 'run.git')"
        )
        return {key: json.loads(value) for key, value in rows}
