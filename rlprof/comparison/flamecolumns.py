"""The flamegraph of two runs as the columns of numbers that scripts draw from."""

from __future__ import annotations

from typing import Final

from rlprof.comparison.calltree import ChangeTree
from rlprof.comparison.outline import Drawn
from rlprof.names import printable
from rlprof.renderers.json_report.values import Json, number

KINDS: Final = ("root", "process", "thread", "yours", "library", "stdlib", "runtime")


def document_of(tree: ChangeTree, drawn: Drawn) -> dict[str, Json]:
    """The ``data`` of ``difftrees.js``."""
    strings: dict[str, int] = {}

    def text(value: str) -> int:
        return strings.setdefault(printable(value), len(strings))

    boxes = drawn.boxes
    columns: dict[str, Json] = {
        "parent": [it.parent for it in boxes],
        "label": [text(it.label) for it in boxes],
        "file": [text(it.place) for it in boxes],
        "line": [it.line for it in boxes],
        "kind": [KINDS.index(it.kind) if it.kind in KINDS else len(KINDS) - 1 for it in boxes],
        "base": [number(it.base.us) for it in boxes],
        "new": [number(it.new.us) for it in boxes],
        "baseIdle": [number(it.base.idle_us) for it in boxes],
        "newIdle": [number(it.new.idle_us) for it in boxes],
        "noise": [number(it.noise_us) for it in boxes],
        "clear": [int(it.is_clear) for it in boxes],
    }
    return {
        "per": tree.per,
        "metric": tree.metric,
        "kinds": list(KINDS),
        "strings": list(strings),
        "columns": columns,
    }
