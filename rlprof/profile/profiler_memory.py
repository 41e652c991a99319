"""Memory that windows of torch's profiler took: it is rlprof's, and no growth of the program's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rlprof.model.recording import MemoryGrowth, Node, Recording, Window
from rlprof.pace.times import importing_nodes

Series = Mapping[int, float]
"""A gauge of one process: its value by window."""


def without_windows(recording: Recording, rss: Mapping[int, Series]) -> dict[int, Series]:
    """Resident memory by process as it would have been: what was taken across a window of torch's
    profiler is taken off all that comes after. What the program itself took meanwhile goes with it.
    """
    taken = _taken(recording, rss)
    return {
        process: {
            window: level - sum(size for at, size in taken.get(process, ()) if window >= at)
            for window, level in series.items()
        }
        for process, series in rss.items()
    }


def growth_without_windows(
    recording: Recording, rss: Mapping[int, Series]
) -> tuple[MemoryGrowth, ...]:
    """The growth by node less what windows took: off the places in torch that grew most, for a window
    begins and ends in the optimizer and its memory is taken by operations.
    """
    left = {process: sum(size for _, size in of) for process, of in _taken(recording, rss).items()}
    if not left:
        return recording.memory
    in_torch = _nodes_in_torch(recording.nodes)
    rows = []
    for row in sorted(recording.memory, key=lambda it: -it.grown_bytes):
        process = recording.threads[row.thread].process
        if row.node in in_torch and left.get(process, 0.0) > 0:
            off = min(row.grown_bytes, round(left[process]))
            left[process] -= off
            rows.append(row._replace(grown_bytes=row.grown_bytes - off))
        else:
            rows.append(row)
    return tuple(rows)


def _taken(recording: Recording, rss: Mapping[int, Series]) -> dict[int, list[tuple[int, float]]]:
    """(first window after it, bytes) of each window of the profiler that left memory behind."""
    found: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for torch_window in recording.torch_windows:
        series = rss.get(torch_window.process, {})
        before = _last_before(recording.windows, series, torch_window.begun_us)
        after = _first_after(recording.windows, series, torch_window.ended_us)
        if before is not None and after is not None and series[after] > series[before]:
            found[torch_window.process].append((after, series[after] - series[before]))
    return found


def _last_before(windows: Sequence[Window], series: Series, at_us: int) -> int | None:
    ids = (it.id for it in reversed(windows) if it.end_us <= at_us and it.id in series)
    return next(ids, None)


def _first_after(windows: Sequence[Window], series: Series, at_us: int) -> int | None:
    return next((it.id for it in windows if it.start_us >= at_us and it.id in series), None)


def _nodes_in_torch(nodes: Sequence[Node]) -> frozenset[int]:
    """Imports of it left out: they take most memory of all, long before the first window."""
    importing = importing_nodes(nodes)
    found: set[int] = set()
    for node in nodes:
        is_torch = "/torch/" in node.frame.file or node.parent in found
        if is_torch and not importing[node.id]:
            found.add(node.id)
    return frozenset(found)
