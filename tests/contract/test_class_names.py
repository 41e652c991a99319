"""A class name stands for one thing in all of rlprof."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]

WRITES_JSON = ("json_document.py", "json_report/", "documents/json.py")
"""Structs there have the names of the values that they write, and a schema names them so."""

KEPT_APART = ("rlprof/__init__.py", "_Phase")
"""Class that rlprof.phase gives to a training, which imports nothing else of rlprof."""


def test_no_two_classes_share_a_public_name():
    homes: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "rlprof").rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if any(part in file for part in WRITES_JSON):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and (file, node.name) != KEPT_APART:
                homes[node.name].add(file)

    shared = {
        name: sorted(files | homes.get(f"_{name}", set()))
        for name, files in homes.items()
        if not name.startswith("_") and len(files | homes.get(f"_{name}", set())) > 1
    }

    assert shared == {}
