"""The lines that read tensors more often per step in head than in base: what a failing counter counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from rlprof.model.counters import GPU_SYNCS, WOULD_SYNC
from rlprof.model.report import Report
from rlprof.names import short_path

MOST_LINES: Final = 5

_DEVICES: Final[Mapping[str, str]] = {GPU_SYNCS: "gpu", WOULD_SYNC: "cpu"}
"""Of the places that a counter counts."""

_SAME: Final = 1.1
"""Times as often as in base that is as often: runs begin and end in the middle of something."""

_RARE: Final = 0.01
"""Reads per step that are none, as for counters."""


class MoreReads(NamedTuple):
    counter: str
    file: str
    line: int
    function: str
    method: str
    base: float
    """Per step; 0 where base has no such line."""
    head: float


class _Place(NamedTuple):
    """What stays when lines move."""

    file: str
    function: str
    method: str


class _Line(NamedTuple):
    line: int
    file: str
    per_step: float


def more_reads(counter: str, base: Report, head: Report) -> list[MoreReads]:
    """Those that read most more often first; empty for counters of something else."""
    device = _DEVICES.get(counter)
    if device is None:
        return []
    was, now = _lines(base, device), _lines(head, device)
    rows = [
        MoreReads(counter, it.file, it.line, place.function, place.method, before, it.per_step)
        for place, lines in now.items()
        for it, before in _more(was.get(place, []), lines)
    ]
    rows.sort(key=lambda it: (it.base - it.head, it.file, it.line, it.method))
    return rows[:MOST_LINES]


def _lines(report: Report, device: str) -> dict[_Place, list[_Line]]:
    """By place, in the order of the file; processes together."""
    often: dict[tuple[_Place, str, int], float] = defaultdict(float)
    for row in report.sync_sites:
        if row.device == device and row.per_step is not None:
            place = _Place(short_path(row.file, report.run.cwd), row.function, row.method)
            often[place, row.file, row.line] += row.per_step
    lines: dict[_Place, list[_Line]] = defaultdict(list)
    for (place, file, line), per_step in sorted(often.items()):
        lines[place].append(_Line(line, file, per_step))
    return lines


def _more(base: Iterable[_Line], head: Iterable[_Line]) -> list[tuple[_Line, float]]:
    """Lines of a function that base has not as often, each with how often its own of base is."""
    left, more = list(base), []
    for it in head:
        same = next((was for was in left if it.per_step <= was.per_step * _SAME + _RARE), None)
        if same is None:
            more.append(it)
        else:
            left.remove(same)
    # What is left of base is the same lines, less often.
    before = [it.per_step for it in left] + [0.0] * len(more)
    return list(zip(more, before, strict=False))
