"""Tell what a page's scripts draw from, packed small. ``flamegraph_assets/rundata.js`` is the other half.

Base64 of gzip of: the length of the head (4 bytes, little-endian), the head (JSON), and the bytes
of all columns that it lists. A column is whole numbers of up to 4 bytes, the lowest bytes of all its
values first, then the next ones: planes of like bytes pack two times better than the numbers do.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from rlprof.documents.json import Json, number
from rlprof.model.detail import Detail, TimeSeries
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.model.report import Report
from rlprof.names import printable, short_path
from rlprof.profile.flame import frame_label
from rlprof.renderers.browser_scripts import TextTable
from rlprof.renderers.html.pruning import IMPORT, Cells, KeptNode, PageTree, page_tree
from rlprof.syntax.origin import Origin, origin_of_file

KINDS: Final = tuple(origin.value for origin in Origin)
"""``yours``, ``library``, ``stdlib``, ``runtime``."""

HIGHEST_LINE: Final = (1 << 31) - 1
"""Scripts keep 32 bits. A sampler that reads a frame while it changes tells lines beyond reason."""

FINEST_PART: Final = 10_000_000
"""Times are kept to this part of the run, in powers of ten of a µs: 10 µs for ten minutes."""

_DIGITS: Final = 4
"""Significant digits of points of the timeline."""

_COMPRESSION: Final = 6


def pack(report: Report) -> tuple[str, float]:
    """The run of ``report``, whose detail has to be there, as text; and the share of time that was
    moved to callers to keep it small.
    """
    assert report.detail is not None, "pages without detail have no data"
    tree = page_tree(report.detail)
    return packed(report, report.detail, tree), tree.pruned_share


def packed(report: Report, detail: Detail, tree: PageTree) -> str:
    strings = TextTable()
    unit_us = time_unit_us(report.run.wall_us)
    columns = {
        **_node_columns(tree.nodes, strings, report.run.cwd),
        **_cell_columns(tree.cells, unit_us),
    }
    planes = {name: _planes(values) for name, values in columns.items()}
    head: dict[str, Json] = {
        "unit": unit_us,
        "columns": [
            [name, len(values), len(planes[name]) // max(1, len(values))]
            for name, values in columns.items()
        ],
        "kinds": list(KINDS),
        **_small_parts(report, detail, tree, strings),
    }
    # Last: all that goes before adds to it.
    head["strings"] = [*strings]
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    whole = b"".join((len(text).to_bytes(4, "little"), text, *planes.values()))
    return base64.b64encode(gzip.compress(whole, _COMPRESSION, mtime=0)).decode("ascii")


def time_unit_us(run_us: int) -> int:
    """In what times of a run of that length are kept."""
    unit = 1
    while run_us // FINEST_PART >= 10 * unit:
        unit *= 10
    return unit


# --- columns -------------------------------------------------------------------------------


def _node_columns(nodes: Sequence[KeptNode], strings: TextTable, cwd: str) -> dict[str, list[int]]:
    """Return the columns of nodes; a parent is told by how far back it is, 0 for roots."""
    return {
        "nodes.parent": [
            0 if node.parent == NO_PARENT else number - node.parent
            for number, node in enumerate(nodes)
        ],
        "nodes.label": [strings.number(frame_label(node.frame)) for node in nodes],
        "nodes.file": [strings.number(node.frame.file) for node in nodes],
        "nodes.short": [
            strings.number(short_path(node.frame.file, cwd) if node.frame.file else "")
            for node in nodes
        ],
        "nodes.line": [min(max(0, node.frame.line), HIGHEST_LINE) for node in nodes],
        "nodes.kind": [KINDS.index(_kind(node.frame)) for node in nodes],
        "nodes.importing": [int(node.importing) for node in nodes],
    }


def _kind(frame: Frame) -> str:
    return Origin.STDLIB.value if frame is IMPORT else origin_of_file(frame.file).value


def _cell_columns(cells: Cells, unit_us: int) -> dict[str, list[int]]:
    """Sorted columns as differences; and of wall time only what is neither waiting nor on a CPU."""
    half = unit_us // 2
    times = zip(cells.wall_us, cells.idle_us, cells.cpu_us, strict=True)
    return {
        "cells.slice": _steps(cells.slice),
        "cells.thread": _steps(cells.thread),
        "cells.node": _steps(cells.node),
        "cells.idle": [(idle + half) // unit_us for idle in cells.idle_us],
        "cells.cpu": [(cpu + half) // unit_us for cpu in cells.cpu_us],
        "cells.rest": [max(0, wall - idle - cpu + half) // unit_us for wall, idle, cpu in times],
    }


def _steps(values: Sequence[int]) -> list[int]:
    """Each value's distance from the one before, in 32 bits."""
    return [(b - a) & 0xFFFFFFFF for a, b in pairwise((0, *values))]


def _planes(values: Sequence[int]) -> bytes:
    numbers = array("I", values)
    assert numbers.itemsize == 4, "columns are of 32 bits"
    if sys.byteorder == "big":
        numbers.byteswap()
    whole = numbers.tobytes()
    wide = max(1, (max(values, default=0).bit_length() + 7) // 8)
    return b"".join(whole[plane::4] for plane in range(wide))


# --- the small parts -----------------------------------------------------------------------


def _small_parts(
    report: Report, detail: Detail, tree: PageTree, strings: TextTable
) -> dict[str, Json]:
    """As they are in the page, texts by number where ``rundata.js`` says so."""
    return {
        "threads": {
            "process": [thread.process for thread in detail.threads],
            "label": [
                strings.number(thread.name or f"thread {thread.tid}") for thread in detail.threads
            ],
            "main": [int(thread.is_main) for thread in detail.threads],
        },
        "processes": {
            "pid": [row.pid for row in report.processes],
            "role": [strings.number(row.role) for row in report.processes],
        },
        "slices": {
            "start": [slice_.start_us for slice_ in detail.slices],
            "end": [slice_.end_us for slice_ in detail.slices],
            "phase": [
                -1 if slice_.phase is None else strings.number(slice_.phase.value)
                for slice_ in detail.slices
            ],
        },
        "findings": _findings(report, tree),
        "phases": [
            {"name": phase.kind.value, "start": phase.start_us, "end": phase.end_us}
            for phase in report.phases
        ],
        "timeline": {
            "start": [start for start, _ in detail.points_us],
            "end": [end for _, end in detail.points_us],
            "series": [_series(series) for series in detail.series],
        },
        "torchWindows": [{"begin": round(window.begun_s * 1e6)} for window in report.torch_windows],
    }


def _findings(report: Report, tree: PageTree) -> list[Json]:
    nodes_of = dict(tree.finding_nodes)
    return [
        {
            "rank": priced.rank,
            "title": printable(priced.finding.title),
            "nodes": list(nodes_of.get(priced.rank, ())),
        }
        for priced in (*report.findings, *report.also_seen)
    ]


def _series(series: TimeSeries) -> dict[str, Json]:
    return {
        "group": series.group,
        "name": printable(series.name),
        "unit": series.unit,
        "values": _rounded(series.values),
    }


def _rounded(values: Iterable[float | None]) -> list[Json]:
    return [None if value is None else number(float(f"{value:.{_DIGITS}g}")) for value in values]
